import { useNavigate } from '@tanstack/react-router'
import { call } from '../api/client.ts'
import { useMe } from '../api/me.ts'
import { MenuButton } from '../ui/menu.tsx'

/** Signs out, and goes on to the identity provider where the session came from one. */
async function signOut(): Promise<void> {
  const { end_session_url } = await call('POST /admin/logout', {})
  window.location.assign(end_session_url ?? '/admin/login')
}

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
