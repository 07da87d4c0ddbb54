import type { DeviceDeed as Deed, DeviceTarget } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'

type Props = { deed: Deed; target: DeviceTarget; onDone?: (() => void) | undefined; onClose: () => void }

export function DeviceDeed({ deed, onClose }: Props) {
  return (
    <Dialog title={deed} onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      <p>…</p>
    </Dialog>
  )
}
