import { type ReactNode, useEffect, useRef, useState } from 'react'
import { FacetPill, FilterChip } from '../ui/facet.tsx'
import { Icon } from '../ui/icon.tsx'
import { Kbd } from '../ui/kbd.tsx'
import { MenuButton } from '../ui/menu.tsx'
import { filtersInUse } from './filters-in-use.ts'
import type { ListState } from './list-state.ts'
import type { FacetCounts, Filter, ListSpec } from './spec.ts'

const typingMs = 250

type Props<T> = {
  spec: ListSpec<T>
  state: ListState
  counts?: FacetCounts | undefined
  rows?: readonly T[] | undefined
  /** True until the rows or a failure are known. Filters whose values come from the rows keep their place. */
  isWaiting: boolean
  /** At the right: columns and export. */
  tools?: ReactNode
}

/** Text field, active filters as chips, further filters as pills. The address stores all of them. */
export function FilterBar<T>({ spec, state, counts, rows, isWaiting, tools }: Props<T>) {
  return (
    <div className="filters">
      {spec.searchHint && <SearchField hint={spec.searchHint} label={`Filter ${spec.noun.many}`} state={state} />}
      {filtersInUse({ filters: [], linkedFilters: spec.linkedFilters ?? [] }, { ...state, q: '' }, undefined, rows).map(
        ({ name, label, value }) => (
          <FilterChip
            key={name}
            label={`${label} is`}
            value={value}
            onRemove={() => state.set({ [name]: undefined })}
          />
        ),
      )}
      <Filters spec={spec} state={state} counts={counts} isWaiting={isWaiting} />
      {tools && <div className="end">{tools}</div>}
    </div>
  )
}

/** Pills of the filters; a menu offers the less used ones. */
function Filters<T>({ spec, state, counts, isWaiting }: Omit<Props<T>, 'tools' | 'rows'>) {
  const [added, setAdded] = useState<string>()
  const isOffered = ({ name, options }: Filter) =>
    options.length > 0 || (counts?.[name]?.some(({ value }) => value !== '') ?? false)
  const isShown = ({ name, isMore }: Filter) => !isMore || state.filters[name] !== undefined || name === added
  const more = spec.filters.filter((filter) => !isShown(filter) && isOffered(filter))
  return (
    <>
      {spec.filters.filter(isShown).map((filter) => (
        <FilterControl
          key={filter.name}
          filter={filter}
          state={state}
          counts={counts?.[filter.name]}
          isWaiting={isWaiting}
          isOpenAtFirst={filter.name === added}
        />
      ))}
      {more.length > 0 && (
        <MenuButton
          label="More filters"
          className="facet"
          trigger={
            <>
              <Icon name="plus" />
              More
            </>
          }
          items={more.map(({ name, label }) => ({ id: name, label, onSelect: () => setAdded(name) }))}
        />
      )}
    </>
  )
}

type SearchProps = {
  /** Names of the fields that the text is compared with. */
  hint: string
  label: string
  state: Pick<ListState, 'q' | 'set'>
  /** False beside another list, whose field the key `/` focuses. */
  hasKey?: boolean
}

/** Text field that filters a list as the person types. */
export function SearchField({ hint, label, state, hasKey = true }: SearchProps) {
  const [text, setText] = useState(state.q)
  const { q, set } = state
  // The address follows the field with a delay. Only a text from elsewhere may replace newer input.
  const sent = useRef(q)
  useEffect(() => {
    if (q !== sent.current) setText(q)
    sent.current = q
  }, [q])
  useEffect(() => {
    if (text === sent.current) return
    const timer = setTimeout(() => {
      sent.current = text
      set({ q: text || undefined }, { replace: true })
    }, typingMs)
    return () => clearTimeout(timer)
  }, [text, set])
  return (
    <search className="field-search">
      <Icon name="filter" />
      <input
        type="search"
        aria-label={label}
        placeholder={hint}
        value={text}
        maxLength={128}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && text === '') event.currentTarget.blur()
        }}
      />
      {hasKey && <Kbd>/</Kbd>}
    </search>
  )
}

type ControlProps = {
  filter: Filter
  state: ListState
  counts: FacetCounts[string] | undefined
  isWaiting: boolean
  isOpenAtFirst: boolean
}

function FilterControl({ filter, state, counts, isWaiting, isOpenAtFirst }: ControlProps) {
  const value = state.filters[filter.name]
  const change = (next: string | undefined) => state.set({ [filter.name]: next })
  const named = new Map(filter.options.map((option) => [option.value, option.label]))
  const found = counts?.filter((c) => c.value !== '' && !named.has(c.value)) ?? []
  // The counts include only rows that match all filters. While this filter is active they do not cover its other
  // values.
  const countOf = (option: string) =>
    counts && value === undefined ? { count: counts.find((c) => c.value === option)?.count ?? 0 } : {}
  const options = [
    ...filter.options.map((option) => ({ ...option, ...countOf(option.value) })),
    ...found.map((c) => ({ value: c.value, label: c.name ?? c.value, ...countOf(c.value) })),
  ]
  if (options.length === 0 && value === undefined && !isWaiting) return null
  return (
    <FacetPill
      label={filter.label}
      options={options}
      selected={value === undefined ? [] : [value]}
      onChange={([next]) => change(next)}
      isSingle
      isOpenAtFirst={isOpenAtFirst}
      {...(filter.phrase !== undefined && { phrase: filter.phrase })}
    />
  )
}
