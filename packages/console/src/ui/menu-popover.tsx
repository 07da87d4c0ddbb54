import './rac-styles.ts'
import type { RefObject } from 'react'
import { MenuItem as Item, Menu, Popover, Separator } from 'react-aria-components'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icon.tsx'
import { Kbd } from './kbd.tsx'
import { useOverlayElement } from './overlay.tsx'

export type MenuAction = {
  id: string
  label: string
  icon?: IconName | undefined
  /** State of a choice that is on or off. The label stays the same; a tick in front shows that it is on. */
  isOn?: boolean | undefined
  kbd?: string | undefined
  danger?: boolean | undefined
  offReason?: string | undefined
  onSelect: () => void
}
/** Action, or a line between groups of actions. */
export type MenuItem = MenuAction | 'line'

type MenuPopoverProps = {
  label: string
  items: readonly MenuItem[]
  trigger: RefObject<HTMLButtonElement | null>
  onSelect: (action: MenuAction) => void
  onClose: () => void
}

/** Menu of a `MenuButton`, loaded as its own module. */
export function MenuPopover({ label, items, trigger, onSelect, onClose }: MenuPopoverProps) {
  const portal = useOverlayElement()
  const actions = items.filter((item) => item !== 'line')
  const select = (id: string | number) => {
    const action = actions.find((item) => item.id === id)
    if (action && action.offReason === undefined) onSelect(action)
  }
  return (
    <Popover
      className="popover"
      aria-label={label}
      triggerRef={trigger}
      placement="bottom end"
      offset={4}
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
      {...(portal && { UNSTABLE_portalContainer: portal })}
    >
      <Menu className="menu" aria-label={label} autoFocus="first" onAction={select}>
        {items.map((item, place) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: a line has no other name
          item === 'line' ? <Separator key={`line-${place}`} /> : <MenuRow key={item.id} action={item} />,
        )}
      </Menu>
    </Popover>
  )
}

const MenuRow = ({ action }: { action: MenuAction }) => (
  <Item
    id={action.id}
    textValue={action.label}
    className={classes(action.danger && 'bad')}
    aria-disabled={action.offReason !== undefined || undefined}
  >
    {action.icon && <Icon name={action.icon} />}
    {action.isOn !== undefined && <Icon name="check" className={action.isOn ? undefined : 'unticked'} />}
    <span>
      {action.label}
      {action.offReason !== undefined && <small> {action.offReason}</small>}
    </span>
    {action.kbd && <Kbd>{action.kbd}</Kbd>}
  </Item>
)
