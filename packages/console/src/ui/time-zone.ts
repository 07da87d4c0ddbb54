import { useSyncExternalStore } from 'react'
import { useSearch } from '../navigation.ts'
import type { TimeZone } from './format-time.ts'

/** Where this browser keeps the choice of its person. */
const key = 'holdfast.tz'
const listeners = new Set<() => void>()
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
const stored = (): TimeZone => (window.localStorage.getItem(key) === 'local' ? 'local' : 'utc')

/** Stores the zone for pages whose address names none. */
export function chooseTimeZone(zone: TimeZone): void {
  if (zone === 'local') window.localStorage.setItem(key, zone)
  else window.localStorage.removeItem(key)
  for (const listener of listeners) listener()
}

/**
 * The zone in which times are shown: that of the address (`tz=local`, `tz=utc`), else the one that the person chose,
 * else UTC.
 *
 * @example const zone = useTimeZone()
 */
export function useTimeZone(): TimeZone {
  const chosen = useSyncExternalStore(subscribe, stored)
  const { tz } = useSearch()
  return tz === 'local' || tz === 'utc' ? tz : chosen
}
