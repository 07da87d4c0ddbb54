import { useDeferredValue, useState } from 'react'

/** A row with its id, and the key under which React keeps its elements. */
export type KeyedRow<T> = { row: T; id: string; key: number }

/** Rows of a page. `turn` counts the pages that shared no row with the one before. */
export type Page<T> = { rows: readonly T[]; keyed: readonly KeyedRow<T>[]; turn: number }

/** More rows than most screens show. */
const firstRows = 30

/**
 * Returns the rows to show in two parts, since a screen shows only the first ones: on a page without any row of the
 * last one the others follow in a later render. Until then they are those of the last page, and `areOld`.
 *
 * @param idOf - returns the id of a row, which no other row of the page has
 */
export function usePage<T>(rows: readonly T[], idOf: (row: T) => string) {
  const [last, setLast] = useState<Page<T>>(() => nextPage(undefined, rows, idOf))
  const page = last.rows === rows ? last : nextPage(last, rows, idOf)
  if (page !== last) setLast(page)
  const before = useDeferredValue<Page<T> | undefined>(page, undefined)
  const areOld = before?.turn !== page.turn
  return {
    ids: page.keyed.map(({ id }) => id),
    turn: page.turn,
    first: page.keyed.slice(0, firstRows),
    others: (areOld ? before : page)?.keyed.slice(firstRows) ?? [],
    areOld,
  }
}

/**
 * Returns the page that follows another one. A row keeps its key while it is in the list. If none stays, as with
 * "Next", the new rows take the keys by position: it takes less to change the texts of elements than to make others.
 */
export function nextPage<T>(last: Page<T> | undefined, rows: readonly T[], idOf: (row: T) => string): Page<T> {
  const keys = new Map(last?.keyed.map(({ id, key }) => [id, key]))
  const ids = rows.map(idOf)
  const stays = ids.some((id) => keys.has(id))
  let highest = Math.max(-1, ...keys.values())
  const keyOf = (id: string, i: number) => keys.get(id) ?? (stays ? undefined : last?.keyed[i]?.key) ?? ++highest
  return {
    rows,
    keyed: rows.map((row, i) => ({ row, id: ids[i]!, key: keyOf(ids[i]!, i) })),
    turn: last ? last.turn + Number(!stays) : 0,
  }
}
