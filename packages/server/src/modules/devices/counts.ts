import { type EffectiveStatus, effectiveStatuses } from '@holdfast/contract/devices'
import type { DeviceStatus, PostureVerdict } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { createSlices } from '../../kernel/time-slice.ts'
import type { Fleet } from './fleet.ts'
import type { FleetDevice } from './fleet-device.ts'

export type DeviceCounts = {
  status: Record<DeviceStatus, number>
  effective_status: Record<EffectiveStatus, number>
  posture: Record<PostureVerdict, number>
}
/** Returns a function that evaluates the posture verdict of a device at a time (ms). Provided by the policy module. */
export type VerdictsOf = (tenant: TenantId) => Promise<(device: FleetDevice, atMs: number) => PostureVerdict>
/** Devices counted between two reads of the clock. */
const between = 256

/** Counts the devices in memory. Revoked devices are not there, so their count is 0. */
export const createDeviceCounts =
  ({ fleet, verdicts, now }: { fleet: Fleet; verdicts: VerdictsOf; now: () => Date }) =>
  async (tenant: TenantId): Promise<DeviceCounts> => {
    const status = { pending: 0, active: 0, suspended: 0, revoked: 0 }
    const none = Object.fromEntries(effectiveStatuses.map((name) => [name, 0]))
    const effective_status = none as DeviceCounts['effective_status']
    const at = now().getTime()
    const posture = { compliant: 0, non_compliant: 0, unknown: 0 }
    const slices = createSlices()
    let examined = 0
    const verdictOf = await verdicts(tenant)
    for (const device of (await fleet.all(tenant)).values()) {
      status[device.status]++
      effective_status[device.effectiveStatusAt(at)]++
      posture[verdictOf(device, at)]++
      if (++examined % between === 0 && slices.isOver()) await slices.next()
    }
    return { status, effective_status, posture }
  }
