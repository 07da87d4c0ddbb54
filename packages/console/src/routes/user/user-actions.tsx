import { openOverlay, type UserDeed } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { copyCommandItem } from '../../ui/copy-command.ts'
import type { IconName } from '../../ui/icon.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import type { MenuAction, MenuItem } from '../../ui/menu-popover.tsx'
import { isLocked, nameOf, type User } from '../users/words.ts'
import { type UserAction, useUserOff } from './user-off.ts'

type OffReason = ReturnType<typeof useUserOff>
type Sheet = Exclude<UserAction, UserDeed>
const isDeed = (action: UserAction): action is UserDeed => !sheets.has(action)
const sheets: ReadonlySet<UserAction> = new Set<Sheet>([
  'edit',
  'password',
  'enroll_factor',
  'compromised',
  'grant_role',
])

/** Opens the question or the sheet of an action on one user. */
export const askFor = (action: UserAction, user: User): void =>
  openOverlay(
    isDeed(action)
      ? { kind: 'user', act: 'deed', deed: action, users: [user] }
      : { kind: 'user', act: action as Sheet, user },
  )

const labels: Readonly<Record<UserAction, { label: string; icon: IconName; kbd?: string; danger?: true }>> = {
  unlock: { label: 'Unlock…', icon: 'lock', kbd: 'u' },
  password: { label: 'Set password…', icon: 'key', kbd: 'p' },
  disable_factor: { label: 'Turn off second factor…', icon: 'phone' },
  enroll_factor: { label: 'Set up second factor…', icon: 'phone' },
  suspend: { label: 'Suspend…', icon: 'pause', kbd: 's' },
  reactivate: { label: 'Reactivate…', icon: 'play', kbd: 's' },
  edit: { label: 'Edit…', icon: 'edit', kbd: 'e' },
  grant_role: { label: 'Grant role…', icon: 'policy' },
  end_sessions: { label: 'End all sessions…', icon: 'out' },
  compromised: { label: 'Compromised user…', icon: 'bolt', danger: true },
  delete: { label: 'Delete…', icon: 'ban', danger: true },
}

const itemOf = (action: UserAction, user: User, off: OffReason): MenuAction => ({
  id: action,
  ...labels[action],
  offReason: off(action, user),
  onSelect: () => askFor(action, user),
})

/** Returns the actions that the state of the user allows, in order of use. */
function actionsOf(user: User): { common: UserAction[]; last: UserAction[] } {
  const isPerson = user.kind === 'person'
  return {
    common: [
      ...(isLocked(user) ? (['unlock'] as const) : []),
      ...(isPerson && user.source === 'local' ? (['password'] as const) : []),
      ...(user.mfa.enabled ? (['disable_factor'] as const) : []),
      user.status === 'suspended' ? 'reactivate' : 'suspend',
      'edit',
      'grant_role',
      ...(isPerson && !user.mfa.enabled ? (['enroll_factor'] as const) : []),
      'end_sessions',
    ],
    last: ['compromised', 'delete'],
  }
}

const menuOf = (user: User, off: OffReason, left: (action: UserAction) => boolean): readonly MenuItem[] => {
  const { common, last } = actionsOf(user)
  return [
    ...common.filter(left).map((action) => itemOf(action, user, off)),
    copyCommandItem(`holdfast user show ${user.user_id}`),
    'line',
    ...last.map((action) => itemOf(action, user, off)),
  ]
}

/** Returns the menu of a row: all actions that the state of the user allows. */
export const userMenu = (user: User, off: OffReason): readonly MenuItem[] => menuOf(user, off, () => true)

const most = 3

/** Actions on a user: the first ones as buttons, the others in the menu. */
export function UserActions({ user, size }: { user: User; size?: 'sm' }) {
  const off = useUserOff()
  const shown = actionsOf(user).common.slice(0, most)
  return (
    <div className="row wrap">
      {shown.map((action, i) => {
        const { label, kbd } = labels[action]
        return (
          <Button
            key={action}
            {...{ size, kbd }}
            {...(action === 'suspend' && { kind: 'danger' as const })}
            {...(i === 0 && action === 'unlock' && { kind: 'primary' as const })}
            offReason={off(action, user)}
            onClick={() => askFor(action, user)}
          >
            {label}
          </Button>
        )
      })}
      <MenuButton
        label={`More actions for ${nameOf(user)}`}
        items={menuOf(user, off, (action) => !shown.includes(action))}
      />
    </div>
  )
}
