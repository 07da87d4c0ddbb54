import { Suspense, useEffect } from 'react'
import { lazily } from '../ui/lazy.tsx'
import { closeOverlay, useOverlay } from './overlay.ts'
import { SessionExpiry } from './session-expiry.tsx'
import { useShortcuts } from './use-shortcuts.ts'
import { useStepUp } from './use-step-up.ts'

/** Delay before the preload, so that the first view loads alone. */
const idleMs = 1_500

const palette = lazily(() => import('./palette.tsx').then((module) => module.Palette))
const help = lazily(() => import('./help.tsx').then((module) => module.Help))
const alertsDrawer = lazily(() => import('./alerts-drawer.tsx').then((module) => module.AlertsDrawer))
const editDevice = lazily(() => import('../routes/device/edit-device.tsx').then((module) => module.EditDevice))
const stepUpDialog = lazily(() => import('./step-up-dialog.tsx').then((module) => module.StepUpDialog))
const enrollSheet = lazily(() => import('../routes/enrollment/enroll-sheet.tsx').then((module) => module.EnrollSheet))
const installLines = lazily(() =>
  import('../routes/enrollment/install-lines-sheet.tsx').then((module) => module.InstallLinesSheet),
)
const revokeToken = lazily(() => import('../routes/enrollment/revoke-token.tsx').then((module) => module.RevokeToken))
const endSessions = lazily(() => import('../routes/sessions/confirm-end.tsx').then((module) => module.ConfirmEnd))
const userOverlay = lazily(() => import('../routes/user/user-overlay.tsx').then((module) => module.UserOverlay))
const groupOverlay = lazily(() => import('../routes/group/group-overlay.tsx').then((module) => module.GroupOverlay))
const deviceDeed = lazily(() => import('../routes/device/device-deed.tsx').then((module) => module.DeviceDeed))

/** Loads the modules of the most used overlays in advance, so that `Ctrl K` opens at once. */
export function preloadOverlays(): void {
  for (const { preload } of [palette, deviceDeed, enrollSheet]) preload()
}

/** Preloads the overlays after a delay, if the page is visible. */
function usePreload(): void {
  useEffect(() => {
    const timer = setTimeout(() => document.hidden || preloadOverlays(), idleMs)
    return () => clearTimeout(timer)
  }, [])
}

/** Overlays of the shell, and the keys that open them. */
export function Overlays() {
  useShortcuts()
  usePreload()
  const overlay = useOverlay()
  const { isStepUp, answer } = useStepUp()
  return (
    <Suspense>
      {overlay?.kind === 'palette' && <palette.Component onClose={closeOverlay} />}
      {overlay?.kind === 'help' && <help.Component onClose={closeOverlay} />}
      {overlay?.kind === 'alerts' && <alertsDrawer.Component onClose={closeOverlay} />}
      {overlay?.kind === 'device_deed' && (
        <deviceDeed.Component
          deed={overlay.deed}
          target={overlay.target}
          onDone={overlay.onDone}
          onClose={closeOverlay}
        />
      )}
      {overlay?.kind === 'session_end' && (
        <endSessions.Component target={overlay.target} onDone={overlay.onDone} onClose={closeOverlay} />
      )}
      {overlay?.kind === 'device_edit' && <editDevice.Component deviceId={overlay.deviceId} onClose={closeOverlay} />}
      {overlay?.kind === 'user' && <userOverlay.Component overlay={overlay} onClose={closeOverlay} />}
      {overlay?.kind === 'group' && <groupOverlay.Component overlay={overlay} onClose={closeOverlay} />}
      {overlay?.kind === 'enroll' && <enrollSheet.Component onClose={closeOverlay} />}
      {overlay?.kind === 'install_lines' && <installLines.Component onClose={closeOverlay} />}
      {overlay?.kind === 'token_revoke' && <revokeToken.Component token={overlay.token} onClose={closeOverlay} />}
      {isStepUp && <stepUpDialog.Component onDone={answer} />}
      <SessionExpiry />
    </Suspense>
  )
}
