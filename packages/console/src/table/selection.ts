import { useCallback, useMemo, useRef, useState } from 'react'
import type { ListState } from './list-state.ts'

/** Selected rows: some by id, or all that match the filter. */
export type Selection = {
  ids: ReadonlySet<string>
  /** All that match the filter, on other pages too. */
  isAll: boolean
  toggle: (id: string) => void
  /** Selects all rows between the one selected last and this one. */
  extendTo: (id: string) => void
  togglePage: () => void
  selectAll: () => void
  clear: () => void
}

/**
 * Returns the selection of a list. A change of filter, order or page clears it, and removed rows leave it, so that no
 * hidden row stays selected.
 *
 * @param pageIds ids of the shown rows, in their order
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
  // Stable functions: only changed rows are redrawn.
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
