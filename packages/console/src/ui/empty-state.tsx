import { Fragment, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { CommandLine } from './code-block.tsx'

type FirstRunProps = {
  title: string
  /** Sentence that says how to create the first object. */
  sentence: ReactNode
  /** Primary button. */
  action?: ReactNode
  /** Equivalent `holdfast` command line. */
  command?: string | undefined
}

/**
 * Empty state of a list that has never had an object.
 *
 * @example <FirstRun title="No devices yet" sentence="A device joins with a token." command="holdfast token create" />
 */
export function FirstRun({ title, sentence, action, command }: FirstRunProps) {
  return (
    <div className="blank">
      <h3>{title}</h3>
      <p>{sentence}</p>
      {action !== undefined && <div className="acts">{action}</div>}
      {command !== undefined && <CommandLine text={command} />}
    </div>
  )
}

type Filter = { name: string; label: string; value: string }
type FilteredEmptyProps = {
  /** `No device matches` */
  title: string
  filters: readonly Filter[]
  onClear: (name: string) => void
  onClearAll: () => void
}

/**
 * Empty state of a list without matches for its filters.
 *
 * @example <FilteredEmpty title="No device matches" filters={active} onClear={drop} onClearAll={dropAll} />
 */
export function FilteredEmpty({ title, filters, onClear, onClearAll }: FilteredEmptyProps) {
  const first = filters[0]
  return (
    <div className="blank">
      <h3>{title}</h3>
      <p>
        {filters.length > 1 ? 'These filters together find nothing: ' : 'This filter finds nothing: '}
        {filters.map((filter, place) => (
          <Fragment key={filter.name}>
            {place > 0 && (place === filters.length - 1 ? ' and ' : ', ')}
            {filter.label} <b className="strong">{filter.value}</b>
          </Fragment>
        ))}
        .
      </p>
      <div className="acts">
        {first && <Button onClick={() => onClear(first.name)}>Clear {first.label.toLowerCase()}</Button>}
        {filters.length > 1 && (
          <Button kind="ghost" onClick={onClearAll}>
            Clear all filters
          </Button>
        )}
      </div>
    </div>
  )
}
