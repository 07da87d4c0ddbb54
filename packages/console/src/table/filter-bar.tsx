import { type ReactNode, useEffect, useState } from 'react'
import { FacetPill } from '../ui/facet.tsx'
import { Icon } from '../ui/icon.tsx'
import { Kbd } from '../ui/kbd.tsx'
import type { ListState } from './list-state.ts'
import type { Filter, ListSpec } from './spec.ts'

const typingMs = 250

/** Counts of the values of each filter, by the name of the parameter. */
export type FacetCounts = Readonly<Record<string, readonly { value: string; name: string | null; count: number }[]>>

type Props<T> = {
  spec: ListSpec<T>
  state: ListState
  counts?: FacetCounts | undefined
  /** At the right: columns, export. */
  tools?: ReactNode
}

/** The text field, the filters that hold as chips, those that can be added as pills. All of it stands in the address. */
export function FilterBar<T>({ spec, state, counts, tools }: Props<T>) {
  return (
    <div className="filters">
      {spec.searchHint && <SearchField hint={spec.searchHint} label={`Filter ${spec.noun.many}`} state={state} />}
      {spec.filters.map((filter) => (
        <FilterControl key={filter.name} filter={filter} state={state} counts={counts?.[filter.name]} />
      ))}
      {tools && <div className="end">{tools}</div>}
    </div>
  )
}

function SearchField({ hint, label, state }: { hint: string; label: string; state: ListState }) {
  const [text, setText] = useState(state.q)
  const { q, set } = state
  useEffect(() => setText(q), [q])
  useEffect(() => {
    if (text === q) return
    const timer = setTimeout(() => set({ q: text || undefined }, { replace: true }), typingMs)
    return () => clearTimeout(timer)
  }, [text, q, set])
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
      <Kbd>/</Kbd>
    </search>
  )
}

type ControlProps = { filter: Filter; state: ListState; counts: FacetCounts[string] | undefined }

function FilterControl({ filter, state, counts }: ControlProps) {
  const value = state.filters[filter.name]
  const change = (next: string | undefined) => state.set({ [filter.name]: next })
  const named = new Map(filter.options.map((option) => [option.value, option.label]))
  const found = counts?.filter((c) => c.value !== '' && !named.has(c.value)) ?? []
  const options = [
    ...filter.options.map((option) => ({
      ...option,
      ...(counts && { count: counts.find((c) => c.value === option.value)?.count ?? 0 }),
    })),
    ...found.map((c) => ({ value: c.value, label: c.name ?? c.value, count: c.count })),
  ]
  if (options.length === 0 && value === undefined) return null
  return (
    <FacetPill
      label={filter.label}
      options={options}
      selected={value === undefined ? [] : [value]}
      onChange={([next]) => change(next)}
      isSingle
      {...(filter.phrase !== undefined && { phrase: filter.phrase })}
    />
  )
}
