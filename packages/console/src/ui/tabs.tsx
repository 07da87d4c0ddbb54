import { type KeyboardEvent, type ReactNode, useEffect } from 'react'
import { classes } from './classes.ts'
import { formatNumber } from './format.ts'

type Option<V extends string> = { value: V; label: ReactNode }
type ChoiceProps<V extends string> = {
  /** Name of the choice for assistive technology: `Range`. */
  label: string
  options: readonly Option<V>[]
  value: V
  onChange: (value: V) => void
}
type TabsProps<V extends string> = Omit<ChoiceProps<V>, 'options'> & {
  options: readonly (Option<V> & { count?: number | string | undefined })[]
  /** Id of the {@link TabPanel} of the tabs. */
  panelId: string
}

/** Returns the index that an arrow key leads to; undefined for another key. */
function placeAfter(key: string, place: number, count: number): number | undefined {
  if (key === 'ArrowRight') return (place + 1) % count
  if (key === 'ArrowLeft') return (place + count - 1) % count
  if (key === 'Home') return 0
  if (key === 'End') return count - 1
  return undefined
}

/**
 * Tabs with arrow keys. The view stores the open one, best in the address.
 *
 * @example <Tabs label="Device" panelId={id} options={tabs} value={tab} onChange={open} />
 */
export function Tabs<V extends string>({ label, options, value, onChange, panelId }: TabsProps<V>) {
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const place = options.findIndex((option) => option.value === value)
    const next = placeAfter(event.key, place, options.length)
    if (next === undefined) return
    event.preventDefault()
    onChange(options[next]!.value)
    event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }
  // On a narrow screen the open tab may be beyond the edge.
  useEffect(() => {
    document.getElementById(`${panelId}-${value}`)?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [panelId, value])
  return (
    <div className="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {options.map((option) => (
        <button
          key={option.value}
          id={`${panelId}-${option.value}`}
          className="tab"
          type="button"
          role="tab"
          aria-selected={option.value === value}
          aria-controls={option.value === value ? panelId : undefined}
          tabIndex={option.value === value ? 0 : -1}
          onClick={() => onChange(option.value)}
        >
          {option.label}
          {option.count !== undefined && (
            <span className="q">{typeof option.count === 'number' ? formatNumber(option.count) : option.count}</span>
          )}
        </button>
      ))}
    </div>
  )
}

type TabPanelProps = { id: string; value: string; className?: string | undefined; children: ReactNode }

/**
 * Content of the open tab.
 *
 * @example <TabPanel id={id} value={tab}>…</TabPanel>
 */
export const TabPanel = ({ id, value, className, children }: TabPanelProps) => (
  <div id={id} role="tabpanel" aria-labelledby={`${id}-${value}`} className={className}>
    {children}
  </div>
)

/**
 * Chooses between views of the same data.
 *
 * @example <Segment label="Platform" options={platforms} value={platform} onChange={setPlatform} />
 */
export const Segment = <V extends string>({ label, options, value, onChange }: ChoiceProps<V>) => (
  <fieldset className="seg" aria-label={label}>
    <PressButtons options={options} value={value} onChange={onChange} />
  </fieldset>
)

/**
 * Chooses a range, for example of time.
 *
 * @example <ButtonGroup label="Range" options={ranges} value={range} onChange={setRange} />
 */
export const ButtonGroup = <V extends string>({ label, options, value, onChange }: ChoiceProps<V>) => (
  <fieldset className="btngroup" aria-label={label}>
    <PressButtons className="btn sm" options={options} value={value} onChange={onChange} />
  </fieldset>
)

type PressProps<V extends string> = Omit<ChoiceProps<V>, 'label'> & { className?: string | undefined }
const PressButtons = <V extends string>({ options, value, onChange, className }: PressProps<V>) =>
  options.map((option) => (
    <button
      key={option.value}
      type="button"
      className={classes(className) || undefined}
      aria-pressed={option.value === value}
      onClick={() => onChange(option.value)}
    >
      {option.label}
    </button>
  ))
