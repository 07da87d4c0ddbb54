import { type GroupAction, type GroupRef, openOverlay } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { copyCommandItem } from '../../ui/copy-command.ts'
import type { IconName } from '../../ui/icon.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import type { MenuAction, MenuItem } from '../../ui/menu-popover.tsx'
import { useGroupOff } from './group-off.ts'

type OffReason = ReturnType<typeof useGroupOff>

/** Opens the sheet or the question of an action on one group. */
export const askFor = (act: GroupAction, group: GroupRef): void => openOverlay({ kind: 'group', act, group })

const labels: Readonly<Record<GroupAction, { label: string; icon: IconName; kbd?: string; danger?: true }>> = {
  add_members: { label: 'Add members…', icon: 'plus', kbd: 'a' },
  edit: { label: 'Rename…', icon: 'edit', kbd: 'e' },
  delete: { label: 'Delete…', icon: 'ban', danger: true },
}

const itemOf = (action: GroupAction, group: GroupRef, off: OffReason): MenuAction => ({
  id: action,
  ...labels[action],
  offReason: off(group),
  onSelect: () => askFor(action, group),
})

const menuOf = (group: GroupRef, off: OffReason, common: readonly GroupAction[]): readonly MenuItem[] => [
  ...common.map((action) => itemOf(action, group, off)),
  copyCommandItem(`holdfast group show ${group.group_id}`),
  'line',
  itemOf('delete', group, off),
]

/** Returns the menu of a row. */
export const groupMenu = (group: GroupRef, off: OffReason): readonly MenuItem[] =>
  menuOf(group, off, ['add_members', 'edit'])

/** Actions on a group: the first ones as buttons, the others in the menu. */
export function GroupActions({ group, size }: { group: GroupRef; size?: 'sm' }) {
  const off = useGroupOff()
  return (
    <div className="row wrap">
      {(['add_members', 'edit'] as const).map((action) => (
        <Button
          key={action}
          {...{ size }}
          kbd={labels[action].kbd}
          offReason={off(group)}
          onClick={() => askFor(action, group)}
        >
          {labels[action].label}
        </Button>
      ))}
      <MenuButton label={`More actions for ${group.name}`} items={menuOf(group, off, [])} />
    </div>
  )
}
