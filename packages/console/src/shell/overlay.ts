import { useSyncExternalStore } from 'react'

/** What can be done with devices from anywhere: a list, a panel, the palette. */
export type DeviceDeed = 'approve' | 'suspend' | 'reactivate' | 'revoke' | 'lost'
/** Which devices: some with their names, or all that match a filter of the list. */
export type DeviceTarget =
  | { devices: readonly { device_id: string; name: string }[] }
  | { filter: Readonly<Record<string, string>>; matched: number }

/** What lies above the page; one at a time. */
export type Overlay =
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
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
export const useOverlay = (): Overlay | undefined => useSyncExternalStore(subscribe, () => open)
