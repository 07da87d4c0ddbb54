import { type KeyboardEvent, type RefObject, Suspense, useRef, useState } from 'react'
import { formatList } from './format.ts'
import { Icon } from './icon.tsx'
import { lazily } from './lazy.ts'
import './ui.css'

export type FacetOption = { value: string; label: string; count?: number | undefined }
type FacetPillProps = {
  /** `Status` */
  label: string
  options: readonly FacetOption[]
  selected: readonly string[]
  onChange: (selected: readonly string[]) => void
  /** Before the value: `Unseen for`; `<label> is` unless given. */
  phrase?: string | undefined
  /** The API takes one value only. */
  isSingle?: boolean | undefined
}
const popover = lazily(() => import('./facet-popover.tsx').then((module) => module.FacetPopover))

/**
 * A filter of a list: a dashed pill that becomes a chip once values are chosen.
 *
 * @example <FacetPill label="Status" options={statuses} selected={status} onChange={setStatus} />
 */
export function FacetPill(props: FacetPillProps) {
  const { label, options, selected, onChange, phrase = `${label} is`, isSingle = false } = props
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setIsOpen] = useState(false)
  const names = options.filter(({ value }) => selected.includes(value)).map((option) => option.label)
  const trigger = {
    ref: button,
    'aria-haspopup': 'listbox',
    'aria-expanded': isOpen,
    onPointerEnter: popover.preload,
    onFocus: popover.preload,
    onClick: () => setIsOpen(!isOpen),
  } as const
  return (
    <>
      {selected.length === 0 ? (
        <button type="button" className="facet" {...trigger}>
          <Icon name="plus" />
          {label}
        </button>
      ) : (
        <FilterChip
          label={phrase}
          value={formatList(names.length > 0 ? names : selected)}
          trigger={trigger}
          onRemove={() => onChange([])}
        />
      )}
      {isOpen && (
        <Suspense>
          <popover.Component
            {...{ label, options, selected, onChange, isSingle, trigger: button, onClose: () => setIsOpen(false) }}
          />
        </Suspense>
      )}
    </>
  )
}

type FilterChipProps = {
  /** `Status is` */
  label: string
  value: string
  onRemove: () => void
  /** Opens what changes the value. */
  onOpen?: (() => void) | undefined
  trigger?: { ref: RefObject<HTMLButtonElement | null>; onClick: () => void } | undefined
}

/**
 * A filter that is on. Value and × are buttons of their own; Backspace removes it too.
 *
 * @example <FilterChip label="Token is" value={token.name} onRemove={clear} />
 */
export function FilterChip({ label, value, onRemove, onOpen, trigger }: FilterChipProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Backspace' && event.key !== 'Delete') return
    event.preventDefault()
    onRemove()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys come from its buttons
    <span className="chip" onKeyDown={onKeyDown}>
      <span>{label}</span>
      <button type="button" aria-label={`${label} ${value}, change`} onClick={onOpen} {...trigger}>
        {value}
      </button>
      <button type="button" aria-label={`Remove filter ${label} ${value}`} onClick={onRemove}>
        <Icon name="x" />
      </button>
    </span>
  )
}
