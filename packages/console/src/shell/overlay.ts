import { useSyncExternalStore } from 'react'
import type { OutputOf } from '../api/client.ts'

/** What can be done with devices from anywhere: a list, a panel, the palette. */
export type DeviceDeed = 'approve' | 'suspend' | 'reactivate' | 'revoke' | 'lost'
type Device = OutputOf<'GET /v1/admin/devices'>['items'][number]
/** A device, with as much of it as the place knows where the deed was chosen. */
export type DeviceRef = Pick<Device, 'device_id' | 'name'> & Partial<Device>
/** Which devices: some, or all that match a filter of the list, of which a page shows `devices`. */
export type DeviceTarget =
  | { devices: readonly DeviceRef[]; filter?: undefined }
  | {
      devices: readonly DeviceRef[]
      filter: Readonly<Record<string, string>>
      /** The filter in words: "status Active". */
      filterWords: readonly string[]
      matched: number
    }

/** What lies above the page; one at a time. */
type Overlay =
  | { kind: 'palette' }
  | { kind: 'help' }
  | { kind: 'alerts' }
  | { kind: 'device_edit'; deviceId: string }
  | { kind: 'enroll' }
  | { kind: 'install_lines' }
  | { kind: 'token_revoke'; token: { token_id: string; name: string; uses: number } }
  | { kind: 'device_deed'; deed: DeviceDeed; target: DeviceTarget; onDone?: (() => void) | undefined }

const listeners = new Set<() => void>()
let open: Overlay | undefined

/**
 * Opens an overlay in place of the one that is open.
 *
 * @example openOverlay({ kind: 'device_deed', deed: 'lost', target: { devices: [device] } })
 */
export function openOverlay(overlay: Overlay): void {
  open = overlay
  for (const listener of listeners) listener()
}
export function closeOverlay(): void {
  open = undefined
  for (const listener of listeners) listener()
}
/** Whether the palette was asked for, also while its module is still on its way. */
export const isPaletteOpen = (): boolean => open?.kind === 'palette'

let early = { text: '', isEntered: false }
/** Keeps what is typed for the palette before its field is there. */
export function typeEarly(key: string): void {
  if (key === 'Enter') early = { ...early, isEntered: early.text !== '' }
  else if (key === 'Backspace') early = { ...early, text: early.text.slice(0, -1) }
  else if (key.length === 1) early = { ...early, text: early.text + key }
}
/** Hands it to the field, once. */
export function takeEarly(): typeof early {
  const typed = early
  early = { text: '', isEntered: false }
  return typed
}
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
export const useOverlay = (): Overlay | undefined => useSyncExternalStore(subscribe, () => open)
