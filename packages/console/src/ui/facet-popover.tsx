import './rac-styles.ts'
import type { RefObject } from 'react'
import { ListBox, ListBoxItem, Popover } from 'react-aria-components'
import { formatNumber } from './format.ts'
import { Icon } from './icon.tsx'
import { useOverlayElement } from './overlay.tsx'

export type FacetOption = { value: string; label: string; count?: number | undefined }
type FacetPopoverProps = {
  label: string
  options: readonly FacetOption[]
  selected: readonly string[]
  onChange: (selected: readonly string[]) => void
  isSingle: boolean
  trigger: RefObject<HTMLButtonElement | null>
  onClose: () => void
}

/** List of values of a `FacetPill`, loaded as its own module. */
export function FacetPopover({ label, options, selected, onChange, isSingle, trigger, onClose }: FacetPopoverProps) {
  const portal = useOverlayElement()
  const choose = (keys: Iterable<string | number> | 'all') => {
    onChange(keys === 'all' ? options.map(({ value }) => value) : Array.from(keys, String))
    if (isSingle) onClose()
  }
  return (
    <Popover
      className="popover"
      aria-label={label}
      triggerRef={trigger}
      placement="bottom start"
      offset={4}
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
      {...(portal && { UNSTABLE_portalContainer: portal })}
    >
      <ListBox
        className="menu"
        aria-label={label}
        autoFocus="first"
        escapeKeyBehavior="none"
        selectionMode={isSingle ? 'single' : 'multiple'}
        selectedKeys={selected}
        onSelectionChange={choose}
      >
        {options.map((option) => (
          <ListBoxItem key={option.value} id={option.value} textValue={option.label}>
            {({ isSelected }) => (
              <>
                <Icon name="check" size="s" className={isSelected ? undefined : 'unseen'} />
                {option.label}
                {option.count !== undefined && <span className="num">{formatNumber(option.count)}</span>}
              </>
            )}
          </ListBoxItem>
        ))}
      </ListBox>
    </Popover>
  )
}
