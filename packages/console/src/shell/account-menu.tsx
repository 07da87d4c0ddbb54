import { useNavigate } from '@tanstack/react-router'
import { useMe } from '../api/me.ts'
import { signOut } from '../api/sign-in.ts'
import { MenuButton } from '../ui/menu.tsx'

export const initialsOf = (name: string): string =>
  name
    .split(/[\s._@-]+/)
    .filter((part) => part !== '')
    .slice(0, 2)
    .map((part) => part[0]?.toUpperCase())
    .join('')

/** The avatar, and what opens under it. */
export function AccountMenu() {
  const { user } = useMe()
  const navigate = useNavigate()
  const name = user?.display_name || user?.username || 'API key'
  return (
    <MenuButton
      label={`${initialsOf(name)}, account of ${name}`}
      trigger={
        <span className="avatar" aria-hidden="true">
          {initialsOf(name)}
        </span>
      }
      items={[
        { id: 'me', label: 'My account', icon: 'user', onSelect: () => void navigate({ to: '/admin/me' }) },
        'line',
        { id: 'out', label: 'Sign out', icon: 'out', onSelect: () => void signOut() },
      ]}
    />
  )
}
