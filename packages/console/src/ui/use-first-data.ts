import { useDeferredValue } from 'react'

/**
 * Returns the data of a query, the first of them a moment later: in a transition, which a slow processor renders in
 * short tasks. Changes of a query are rendered in one task.
 *
 * @example const data = useFirstData(query.data)
 */
export function useFirstData<T>(data: T | undefined): T | undefined {
  const isReady = useDeferredValue(data !== undefined)
  return isReady ? data : undefined
}
