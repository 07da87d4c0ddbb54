import type { DeviceDeed as Deed, DeviceTarget } from '../../shell/overlay.ts'
import { ConfirmDeed } from './confirm-deed.tsx'
import { LostDevice } from './lost-device.tsx'

type Props = { deed: Deed; target: DeviceTarget; onDone?: (() => void) | undefined; onClose: () => void }

/** Sheet or confirmation of an action. */
export function DeviceDeed({ deed, target, onDone, onClose }: Props) {
  if (deed !== 'lost') return <ConfirmDeed {...{ deed, target, onDone, onClose }} />
  const [device] = target.devices
  return device ? <LostDevice device={device} onClose={onClose} /> : null
}
