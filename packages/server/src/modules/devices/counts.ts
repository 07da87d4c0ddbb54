import { type EffectiveStatus, effectiveStatuses } from '@holdfast/contract/devices'
import type { DeviceStatus, PostureVerdict } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { createSlices } from '../../kernel/time-slice.ts'
import type { Fleet } from './fleet.ts'

export type DeviceCounts = {
  status: Record<DeviceStatus, number>
  effective_status: Record<EffectiveStatus, number>
  posture: Record<PostureVerdict, number>
}
/** Devices counted between two reads of the clock. */
const between = 256

/** Counts the devices in memory. Revoked devices are not there, so their count is 0. */
export const createDeviceCounts =
  ({ fleet, now }: { fleet: Fleet; now: () => Date }) =>
  async (tenant: TenantId): Promise<DeviceCounts> => {
    const status = { pending: 0, active: 0, suspended: 0, revoked: 0 }
    const none = Object.fromEntries(effectiveStatuses.map((name) => [name, 0]))
    const effective_status = none as DeviceCounts['effective_status']
    const at = now().getTime()
    const posture = { compliant: 0, non_compliant: 0, unknown: 0 }
    const slices = createSlices()
    let examined = 0
    for (const device of (await fleet.all(tenant)).values()) {
      status[device.status]++
      effective_status[device.effectiveAt(at).status]++
      posture[device.posture?.verdict ?? 'unknown']++
      if (++examined % between === 0 && slices.isOver()) await slices.next()
    }
    return { status, effective_status, posture }
  }
