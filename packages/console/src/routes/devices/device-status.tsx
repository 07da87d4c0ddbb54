import { Status } from '../../ui/status.tsx'
import { type Device, statusWords } from './words.ts'

/** The effective status: device, user, locks and credential together. */
export function DeviceStatus({ device }: { device: Device }) {
  const { kind, label } = statusWords[device.effective_status]
  return <Status kind={kind}>{label}</Status>
}
