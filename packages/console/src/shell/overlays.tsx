import { lazy, Suspense } from 'react'
import { closeOverlay, useOverlay } from './overlay.ts'
import { SessionExpiry } from './session-expiry.tsx'
import { useShortcuts } from './use-shortcuts.ts'

const loadPalette = () => import('./palette.tsx')
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }))
const Help = lazy(async () => ({ default: (await import('./help.tsx')).Help }))
const AlertsDrawer = lazy(async () => ({ default: (await import('./alerts-drawer.tsx')).AlertsDrawer }))

/** Loads what opens above the page before it is asked for, so that `Ctrl K` opens at once. */
export const preloadOverlays = (): void => void loadPalette()

/** The overlays of the shell, and the keys that open them. */
export function Overlays() {
  useShortcuts()
  const overlay = useOverlay()
  return (
    <Suspense>
      {overlay === 'palette' && <Palette onClose={closeOverlay} />}
      {overlay === 'help' && <Help onClose={closeOverlay} />}
      {overlay === 'alerts' && <AlertsDrawer onClose={closeOverlay} />}
      <SessionExpiry />
    </Suspense>
  )
}
