import { type CompiledPolicy, createImpact, type DeviceImpact, type diffPolicies, type Impact } from '@holdfast/policy'
import type { TenantId } from '../../kernel/actor.ts'
import type { Fleet, FleetDevice } from '../devices/index.ts'
import { walkFleet } from './fleet-walk.ts'
import { type CanaryRollout, checksOf, deviceFactsOf, type TenantPolicy } from './tenant-policy.ts'

/** Impact as stored with a version. */
export type StoredImpact = ReturnType<typeof diffPolicies> & {
  status: 'running' | 'done'
  devices_examined: number
  devices_affected: number
  grants_gained: number
  grants_lost: number
  warnings: string[]
}

/** A fleet is split too finely if it has this many variants, and more than one for each few devices. */
const manyVariants = 1000
const devicesPerVariant = 4

/**
 * Computes the impact of a policy on the fleet in one walk over both policies, which yields to other work. Each variant
 * costs a signature and bytes, so a document under which nearly every device has its own variant gets a warning.
 */
export const createImpactOf =
  ({ fleet, now }: { fleet: Fleet; now: () => Date }) =>
  async (
    tenant: TenantId,
    before: TenantPolicy,
    after: CompiledPolicy,
    /** Rollout of a canary. Without one the policy goes to every device. */
    rollout?: CanaryRollout,
    /** Called for each device that was examined. */
    visit?: (device: FleetDevice, change: DeviceImpact) => void,
  ): Promise<{ impact: Impact; variants: number; warnings: string[] }> => {
    const impact = createImpact(before.versionOn(rollout ? 'canary' : 'stable').compiled, after)
    const at = now().getTime()
    const variants = new Set<string>()
    await walkFleet(await fleet.all(tenant, checksOf([after])), (device) => {
      if (rollout && !before.reaches(rollout, device)) return
      const change = impact.add(deviceFactsOf(device), at)
      variants.add(change.selection.key)
      visit?.(device, change)
    })
    const result = impact.result()
    return { impact: result, variants: variants.size, warnings: warningsOf(variants.size, result.devices_examined) }
  }
export type ImpactOf = ReturnType<typeof createImpactOf>

const warningsOf = (variants: number, devices: number): string[] =>
  variants > manyVariants && variants * devicesPerVariant > devices
    ? [
        `this document produces ${variants} different policies for ${devices} devices, so nearly every device needs its own signature and download: use fewer overlapping groups and tags in rules`,
      ]
    : []
