import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Search } from '../router.tsx'

type Change = Readonly<Record<string, string | undefined>>

/** What a list shows, as the address says it: shared with the link, kept by reload and back. */
export type ListState = {
  q: string
  filters: Readonly<Record<string, string>>
  sort: string
  /** Where the page begins; undefined for the first. */
  cursor: string | undefined
  /** Cursors of the pages before this one, the first page as an empty text. Kept with the entry of the history. */
  before: readonly string[]
  /** The object in the side panel. */
  open: string | undefined
  /** Columns that were chosen; undefined for those of the list. */
  columns: readonly string[] | undefined
  set: (change: Change, options?: { replace?: boolean }) => void
  toNext: (cursor: string) => void
  toPrevious: () => void
}

type HistoryState = { cursors?: readonly string[] }

/**
 * The state of a list in the address. A new filter, text or order begins at the first page again.
 *
 * @param filterNames the parameters of the API that are filters
 */
export function useListState(filterNames: readonly string[], defaultSort: string): ListState {
  const navigate = useNavigate()
  const search = useRouterState({ select: (s) => s.location.search as Search })
  const cursors = useRouterState({ select: (s) => (s.location.state as HistoryState).cursors })
  return useMemo(() => {
    const before = search.cursor === undefined ? [] : (cursors ?? [''])
    const go = (change: Change, nextCursors: readonly string[], replace = false) =>
      void navigate({
        to: '.',
        search: ((now: Search) => ({ ...now, ...change })) as never,
        state: ((now: HistoryState) => ({ ...now, cursors: nextCursors })) as never,
        replace,
        resetScroll: false,
      })
    const filters = Object.fromEntries(
      filterNames.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])),
    )
    return {
      q: search.q ?? '',
      filters,
      sort: search.sort ?? defaultSort,
      cursor: search.cursor,
      before,
      open: search.open,
      columns: search.cols?.split(','),
      set: (change, { replace = false } = {}) => {
        const keepsPage = Object.keys(change).every((name) => name === 'open' || name === 'tab' || name === 'cols')
        go(keepsPage ? change : { cursor: undefined, ...change }, keepsPage ? before : [], replace)
      },
      toNext: (cursor) => go({ cursor }, [...before, search.cursor ?? '']),
      toPrevious: () => go({ cursor: before.at(-1) || undefined }, before.slice(0, -1)),
    }
  }, [search, cursors, navigate, filterNames, defaultSort])
}
