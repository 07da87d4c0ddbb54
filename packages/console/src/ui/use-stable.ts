import { useCallback, useRef } from 'react'

/** Returns a function with a stable identity that calls the latest `act`. For events, not for rendering. */
export function useStable<A extends unknown[], R>(act: (...args: A) => R): (...args: A) => R {
  const latest = useRef(act)
  latest.current = act
  return useCallback((...args: A) => latest.current(...args), [])
}
