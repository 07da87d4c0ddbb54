import { lazy, Suspense } from 'react'
import { closeOverlay, useOverlay } from './overlay.ts'
import { SessionExpiry } from './session-expiry.tsx'
import { useShortcuts } from './use-shortcuts.ts'
import { useStepUp } from './use-step-up.ts'

const loadPalette = () => import('./palette.tsx')
const loadDeed = () => import('../routes/device/device-deed.tsx')
const loadEnroll = () => import('../routes/enrollment/enroll-sheet.tsx')
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }))
const Help = lazy(async () => ({ default: (await import('./help.tsx')).Help }))
const AlertsDrawer = lazy(async () => ({ default: (await import('./alerts-drawer.tsx')).AlertsDrawer }))
const EditDevice = lazy(async () => ({ default: (await import('../routes/device/edit-device.tsx')).EditDevice }))
const StepUpDialog = lazy(async () => ({ default: (await import('./step-up-dialog.tsx')).StepUpDialog }))
const EnrollSheet = lazy(async () => ({ default: (await loadEnroll()).EnrollSheet }))
const InstallLinesSheet = lazy(async () => ({
  default: (await import('../routes/enrollment/install-lines-sheet.tsx')).InstallLinesSheet,
}))
const RevokeToken = lazy(async () => ({ default: (await import('../routes/enrollment/revoke-token.tsx')).RevokeToken }))
const DeviceDeed = lazy(async () => ({ default: (await loadDeed()).DeviceDeed }))

/** Loads what opens above the page before it is asked for, so that `Ctrl K` opens at once. */
export function preloadOverlays(): void {
  void loadPalette()
  void loadDeed()
  void loadEnroll()
}

/** The overlays of the shell, and the keys that open them. */
export function Overlays() {
  useShortcuts()
  const overlay = useOverlay()
  const { isStepUp, answer } = useStepUp()
  return (
    <Suspense>
      {overlay?.kind === 'palette' && <Palette onClose={closeOverlay} />}
      {overlay?.kind === 'help' && <Help onClose={closeOverlay} />}
      {overlay?.kind === 'alerts' && <AlertsDrawer onClose={closeOverlay} />}
      {overlay?.kind === 'device_deed' && (
        <DeviceDeed deed={overlay.deed} target={overlay.target} onDone={overlay.onDone} onClose={closeOverlay} />
      )}
      {overlay?.kind === 'device_edit' && <EditDevice deviceId={overlay.deviceId} onClose={closeOverlay} />}
      {overlay?.kind === 'enroll' && <EnrollSheet onClose={closeOverlay} />}
      {overlay?.kind === 'install_lines' && <InstallLinesSheet onClose={closeOverlay} />}
      {overlay?.kind === 'token_revoke' && <RevokeToken token={overlay.token} onClose={closeOverlay} />}
      {isStepUp && <StepUpDialog onDone={answer} />}
      <SessionExpiry />
    </Suspense>
  )
}
