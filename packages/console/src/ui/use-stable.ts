import { useCallback, useRef } from 'react'

/** A function that stays the same and does what the last one does. For events, not for what is drawn. */
export function useStable<A extends unknown[], R>(act: (...args: A) => R): (...args: A) => R {
  const latest = useRef(act)
  latest.current = act
  return useCallback((...args: A) => latest.current(...args), [])
}
