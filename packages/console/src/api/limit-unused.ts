import type { Query, QueryCache } from '@tanstack/react-query'

/**
 * Keeps at most `most` answers that no view shows, and removes the oldest of the others. A time alone does not bound
 * them: a fast walk through a list reads hundreds of pages within a minute, of some 100 kB each.
 *
 * @param most answers for Back, and for the next view that asks for the same
 */
export function limitUnused(cache: QueryCache, most: number): void {
  let isPlanned = false
  const removeOldest = () => {
    isPlanned = false
    const unused = cache.getAll().filter(isUnused)
    unused.sort((a, b) => a.state.dataUpdatedAt - b.state.dataUpdatedAt)
    for (const query of unused.slice(0, Math.max(0, unused.length - most))) cache.remove(query)
  }
  cache.subscribe(({ type }) => {
    if (type !== 'observerRemoved' || isPlanned) return
    isPlanned = true
    // A view that is being drawn observes its queries only afterwards.
    setTimeout(removeOldest)
  })
}

/** A query that is not answered yet belongs to a view that is about to observe it: it would only be made twice. */
const isUnused = (query: Query): boolean =>
  query.getObserversCount() === 0 && query.state.fetchStatus === 'idle' && query.state.status !== 'pending'
