import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'
import { lazily } from './lazy.tsx'
import type { MenuAction, MenuItem } from './menu-popover.tsx'

type MenuButtonProps = {
  /** Name of the object: `Actions for kst-mbp-0142`. */
  label: string
  items: readonly MenuItem[]
  /** Content of the button; default: three dots. */
  trigger?: ReactNode
  /** CSS classes of the button; default: `iconbtn`. */
  className?: string | undefined
}

const popover = lazily(() => import('./menu-popover.tsx').then((module) => module.MenuPopover))

/**
 * Button that opens a menu. The menu is loaded when the button gets the pointer or the focus.
 *
 * @example <MenuButton label={`Actions for ${name}`} items={[{ id: 'revoke', label: 'Revoke…', onSelect }]} />
 */
export function MenuButton({ label, items, trigger, className = 'iconbtn' }: MenuButtonProps) {
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setIsOpen] = useState(false)
  const [chosen, setChosen] = useState<MenuAction>()
  // The action runs after the menu has closed and the focus is back: a dialog then returns the focus to this button.
  useEffect(() => {
    if (!chosen) return
    setChosen(undefined)
    button.current?.focus()
    chosen.onSelect()
  }, [chosen])
  const select = (action: MenuAction) => {
    setIsOpen(false)
    setChosen(action)
  }
  const openByArrow = (event: { key: string; preventDefault: () => void }) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    setIsOpen(true)
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        className={classes(className)}
        title={className === 'iconbtn' ? label : undefined}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onPointerEnter={popover.preload}
        onFocus={popover.preload}
        onKeyDown={openByArrow}
        onClick={() => setIsOpen(!isOpen)}
      >
        {trigger ?? <Icon name="more" />}
      </button>
      {isOpen && (
        <Suspense>
          <popover.Component
            label={label}
            items={items}
            trigger={button}
            onSelect={select}
            onClose={() => setIsOpen(false)}
          />
        </Suspense>
      )}
    </>
  )
}
