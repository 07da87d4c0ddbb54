import { useNavigate } from '@tanstack/react-router'
import { useMe } from '../api/me.ts'
import { formatInitials } from '../ui/format.ts'
import { MenuButton } from '../ui/menu.tsx'
import { signOutOrSay } from './sign-out.ts'

/** The avatar and its menu. */
export function AccountMenu() {
  const { user } = useMe()
  const navigate = useNavigate()
  const name = user?.display_name || user?.username || 'API key'
  return (
    <MenuButton
      label={`${formatInitials(name)}, account of ${name}`}
      trigger={
        <span className="avatar" aria-hidden="true">
          {formatInitials(name)}
        </span>
      }
      items={[
        { id: 'me', label: 'My account', icon: 'user', onSelect: () => void navigate({ to: '/admin/me' }) },
        'line',
        { id: 'out', label: 'Sign out', icon: 'out', onSelect: () => void signOutOrSay() },
      ]}
    />
  )
}
