import { type KeyboardEvent, Suspense, useRef, useState } from 'react'
import type { FacetOption } from './facet-popover.tsx'
import { formatList } from './format.ts'
import { Icon } from './icon.tsx'
import { lazily } from './lazy.tsx'
import './ui.css'

type FacetPillProps = {
  /** Name of the filter: `Status`. */
  label: string
  options: readonly FacetOption[]
  selected: readonly string[]
  onChange: (selected: readonly string[]) => void
  /** Text before the value: `Unseen for`; default: `<label> is`. */
  phrase?: string | undefined
  /** True if the API accepts only one value. */
  isSingle?: boolean | undefined
  /** Opens the values at once, for a pill that has just been added. */
  isOpenAtFirst?: boolean | undefined
}
const popover = lazily(() => import('./facet-popover.tsx').then((module) => module.FacetPopover))

/**
 * Filter of a list: a dashed pill that becomes a chip once values are chosen.
 *
 * @example <FacetPill label="Status" options={statuses} selected={status} onChange={setStatus} />
 */
export function FacetPill(props: FacetPillProps) {
  const { label, options, selected, onChange, phrase = `${label} is`, isSingle = false, isOpenAtFirst = false } = props
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setIsOpen] = useState(isOpenAtFirst)
  const names = options.filter(({ value }) => selected.includes(value)).map((option) => option.label)
  const isOn = selected.length > 0
  const value = formatList(names.length > 0 ? names : selected)
  const remove = () => {
    onChange([])
    button.current?.focus()
  }
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys come from its buttons */}
      <span className={isOn ? 'chip' : undefined} onKeyDown={isOn ? onRemoveKey(remove) : undefined}>
        {isOn && <span>{phrase}</span>}
        <button
          ref={button}
          type="button"
          className={isOn ? undefined : 'facet'}
          aria-label={isOn ? `${phrase} ${value}, change` : undefined}
          aria-haspopup="listbox"
          aria-expanded={isOpen}
          onPointerEnter={popover.preload}
          onFocus={popover.preload}
          onClick={() => setIsOpen(!isOpen)}
        >
          {!isOn && <Icon name="plus" />}
          {isOn ? value : label}
        </button>
        {isOn && <RemoveButton label={`Remove filter ${phrase} ${value}`} onClick={remove} />}
      </span>
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

const RemoveButton = ({ label, onClick }: { label: string; onClick: () => void }) => (
  <button type="button" aria-label={label} onClick={onClick}>
    <Icon name="x" />
  </button>
)
const onRemoveKey = (remove: () => void) => (event: KeyboardEvent) => {
  if (event.key !== 'Backspace' && event.key !== 'Delete') return
  event.preventDefault()
  remove()
}

type FilterChipProps = {
  /** Text before the value: `Token is`. */
  label: string
  value: string
  onRemove: () => void
  /** Opens the control that changes the value. Without it the value is plain text. */
  onOpen?: (() => void) | undefined
}

/**
 * Active filter without a pill of its own. Backspace removes it too.
 *
 * @example <FilterChip label="Token is" value={token.name} onRemove={clear} />
 */
export const FilterChip = ({ label, value, onRemove, onOpen }: FilterChipProps) => (
  // biome-ignore lint/a11y/noStaticElementInteractions: the keys come from its buttons
  <span className="chip" onKeyDown={onRemoveKey(onRemove)}>
    <span>
      {label}
      {!onOpen && <b className="strong chipvalue">{value}</b>}
    </span>
    {onOpen && (
      <button type="button" aria-label={`${label} ${value}, change`} onClick={onOpen}>
        {value}
      </button>
    )}
    <RemoveButton label={`Remove filter ${label} ${value}`} onClick={onRemove} />
  </span>
)
