import { useMemo, useState } from 'react'
import type { ListState } from './list-state.ts'

type Local = { q: string; cursors: readonly string[] }
const first: Local = { q: '', cursors: [] }

/**
 * Returns text and page of a list inside another view, such as the members of a group. Unlike `useListState` the
 * address does not store them: it has those of the view.
 *
 * @param of id of the object. Another object starts with its first page.
 */
export function useLocalList(of: string): Pick<ListState, 'q' | 'cursor' | 'before' | 'set' | 'toNext' | 'toPrevious'> {
  const [stored, setStored] = useState({ of, ...first })
  const { q, cursors } = stored.of === of ? stored : first
  return useMemo(() => {
    const move = (change: Partial<Local>) => setStored({ of, q, cursors, ...change })
    return {
      q,
      cursor: cursors.at(-1),
      before: cursors,
      set: (change) => move({ q: change.q ?? '', cursors: [] }),
      toNext: (cursor) => move({ cursors: [...cursors, cursor] }),
      toPrevious: () => move({ cursors: cursors.slice(0, -1) }),
    }
  }, [of, q, cursors])
}
