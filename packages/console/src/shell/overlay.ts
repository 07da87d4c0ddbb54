import { useSyncExternalStore } from 'react'

/** What lies above the page; one at a time. */
export type Overlay = 'palette' | 'help' | 'alerts'
const listeners = new Set<() => void>()
let open: Overlay | undefined

/** Opens an overlay in place of the one that is open. */
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
