import { useDeferredValue } from 'react'

/**
 * Returns the data of a query. The first data come a moment later, in a transition: a slow processor renders it in
 * short tasks. Later data come at once.
 *
 * @example const data = useFirstData(query.data)
 */
export function useFirstData<T>(data: T | undefined): T | undefined {
  const isReady = useDeferredValue(data !== undefined)
  return isReady ? data : undefined
}
