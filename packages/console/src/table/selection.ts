import { useCallback, useMemo, useRef, useState } from 'react'
import type { ListState } from './list-state.ts'

/** The rows that are selected: some by id, or all that match the filter. */
export type Selection = {
  ids: ReadonlySet<string>
  /** All that match the filter, those of other pages too. */
  isAll: boolean
  toggle: (id: string) => void
  /** Selects from the row that was selected last to this one. */
  extendTo: (id: string) => void
  togglePage: () => void
  selectAll: () => void
  clear: () => void
}

/**
 * The selection of a list. Another filter, order or page ends it, and a row that is gone leaves it: nothing out of
 * sight stays selected.
 *
 * @param pageIds the ids of the rows that are shown, in their order
 */
export function useSelection(pageIds: readonly string[], { q, filters, sort, cursor }: ListState): Selection {
  const scope = JSON.stringify([q, filters, sort, cursor])
  const [chosen, setIds] = useState<ReadonlySet<string>>(new Set())
  const [isAll, setAll] = useState(false)
  const [scopeNow, setScope] = useState(scope)
  if (scopeNow !== scope) {
    setScope(scope)
    setIds(new Set())
    setAll(false)
  }
  const anchor = useRef<string | undefined>(undefined)
  const page = useRef(pageIds)
  page.current = pageIds
  const change = useCallback((make: (now: Set<string>) => void) => {
    setAll(false)
    setIds((now) => {
      const next = new Set(now)
      make(next)
      return next
    })
  }, [])
  // Stable functions: only rows that have changed are drawn again.
  const actions = useMemo(
    () => ({
      toggle: (id: string) => {
        anchor.current = id
        change((next) => (next.has(id) ? next.delete(id) : next.add(id)))
      },
      extendTo: (id: string) => {
        const from = page.current.indexOf(anchor.current ?? id)
        const to = page.current.indexOf(id)
        const [first, last] = [Math.min(from, to), Math.max(from, to)]
        change((next) => {
          for (const each of page.current.slice(Math.max(first, 0), last + 1)) next.add(each)
        })
      },
      togglePage: () =>
        change((next) => {
          const isWhole = page.current.every((id) => next.has(id))
          for (const id of page.current) isWhole ? next.delete(id) : next.add(id)
        }),
      selectAll: () => setAll(true),
      clear: () => {
        setAll(false)
        setIds(new Set())
      },
    }),
    [change],
  )
  return useMemo(
    () => ({ ids: new Set(pageIds.filter((id) => chosen.has(id))), isAll, ...actions }),
    [pageIds, chosen, isAll, actions],
  )
}
