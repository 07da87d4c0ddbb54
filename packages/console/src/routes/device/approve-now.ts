import { messageOf } from '../../api/api-error.ts'
import { withStepUp } from '../../api/step-up.ts'
import type { DeviceRef } from '../../shell/overlay.ts'
import { toast } from '../../ui/toast.tsx'
import { changeDevices } from './change-devices.ts'

/** Approves a device without confirmation, since suspending it undoes the approval. */
export async function approveNow(device: DeviceRef): Promise<void> {
  try {
    const { summary } = await withStepUp(() => changeDevices('approve', { devices: [device] }))
    toast({ title: summary.changed === 1 ? `${device.name} approved` : `${device.name} was approved already` })
  } catch (e) {
    toast({ kind: 'bad', title: `${device.name} was not approved`, text: messageOf(e) })
  }
}
