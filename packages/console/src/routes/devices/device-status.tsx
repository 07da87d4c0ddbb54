import { Status } from '../../ui/status.tsx'
import { type Device, statusWords } from './words.ts'

/** Effective status, from device, user, locks and credential. */
export function DeviceStatus({ device }: { device: Device }) {
  const { kind, label } = statusWords[device.effective_status]
  return <Status kind={kind}>{label}</Status>
}
