import { useSyncExternalStore } from 'react'
import { readStored, writeStored } from '../api/browser-storage.ts'
import { useSearch } from '../navigation.ts'
import type { TimeZone } from './format-time.ts'

/** Key of the person's choice in the local storage. */
const key = 'holdfast.tz'
const listeners = new Set<() => void>()
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
const stored = (): TimeZone => (readStored('localStorage', key) === 'local' ? 'local' : 'utc')

/** Stores the zone for pages without one in their address. */
export function chooseTimeZone(zone: TimeZone): void {
  writeStored('localStorage', key, zone === 'local' ? zone : null)
  for (const listener of listeners) listener()
}

/**
 * Returns the zone for shown times: that of the address (`tz=local`, `tz=utc`), else the stored one, else UTC.
 *
 * @example const zone = useTimeZone()
 */
export function useTimeZone(): TimeZone {
  const chosen = useSyncExternalStore(subscribe, stored)
  const { tz } = useSearch()
  return tz === 'local' || tz === 'utc' ? tz : chosen
}
