import { useRouterState } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { InputOf, Route } from '../api/client.ts'
import { useApi } from '../api/use-api.ts'
import { type SearchChange, useNavigation, useSearch } from '../navigation.ts'

/**
 * Filters, order, page and open object of a list. The address stores them, so a link, a reload and Back restore them.
 */
export type ListState = {
  q: string
  filters: Readonly<Record<string, string>>
  sort: string
  /** Cursor of the page; undefined for the first page. */
  cursor: string | undefined
  /** Cursors of the previous pages; an empty text for the first page. Stored with the entry of the history. */
  before: readonly string[]
  /** Object in the side panel. */
  open: string | undefined
  /** Chosen columns; undefined for the defaults. */
  columns: readonly string[] | undefined
  set: (change: SearchChange, options?: { replace?: boolean }) => void
  toNext: (cursor: string) => void
  toPrevious: () => void
}

type HistoryState = { cursors?: readonly string[] }
const ofPage: ReadonlySet<string> = new Set(['open', 'tab', 'cols'])

/**
 * Returns the state of a list in the address. A new filter, text or order returns to the first page.
 *
 * @param filterNames the API parameters that are filters, and `q` if the list has it
 */
export function useListState(filterNames: readonly string[], defaultSort: string): ListState {
  const { change } = useNavigation()
  const search = useSearch()
  const cursors = useRouterState({ select: (s) => (s.location.state as HistoryState).cursors })
  return useMemo(() => {
    const before = search.cursor === undefined ? [] : (cursors ?? [''])
    const go = (next: SearchChange, nextCursors: readonly string[], replace = false) =>
      change(next, { replace, state: (now) => ({ ...now, cursors: nextCursors }) })
    const given: Readonly<Record<string, string>> = Object.fromEntries(
      filterNames.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])),
    )
    const { q = '', ...filters } = given
    return {
      q,
      filters,
      sort: search.sort ?? defaultSort,
      cursor: search.cursor,
      before,
      open: search.open,
      columns: search.cols?.split(','),
      set: (next, { replace = false } = {}) => {
        const keepsPage = Object.keys(next).every((name) => ofPage.has(name))
        go(keepsPage ? next : { cursor: undefined, ...next }, keepsPage ? before : [], replace)
      },
      toNext: (cursor) => go({ cursor }, [...before, search.cursor ?? '']),
      toPrevious: () => go({ cursor: before.at(-1) || undefined }, before.slice(0, -1)),
    }
  }, [search, cursors, change, filterNames, defaultSort])
}

/** Number of rows on a page of a list. */
export const pageSize = 100

/**
 * Reads the page of a list that the address names. Keeps the last page while another one is read.
 *
 * @param more parameters that are not filters, for example `count`
 */
export function useListPage<R extends ListRoute>(
  route: R,
  state: ListState,
  more: Readonly<Record<string, string>> = {},
) {
  const { q, filters, sort, cursor } = state
  // The address holds texts. The server refuses an invalid value of a parameter.
  const query = { ...filters, ...(q && { q }), ...more, sort, cursor, limit: pageSize }
  return useApi(route, { query } as InputOf<R>, { keepsLast: true })
}
type ListRoute = Extract<
  Route,
  `GET /v1/admin/${'devices' | 'users' | 'groups' | 'sessions' | 'tokens' | 'notifications' | 'updates/releases' | 'policy'}`
>
