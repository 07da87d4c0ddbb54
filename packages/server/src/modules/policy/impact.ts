import { type CompiledPolicy, createImpact, type DeviceImpact, type diffPolicies, type Impact } from '@holdfast/policy'
import type { TenantId } from '../../kernel/actor.ts'
import type { Fleet, FleetDevice } from '../devices/index.ts'
import { walkFleet } from './fleet-walk.ts'
import { checksOf, factsOf, type Rollout, type TenantPolicy } from './tenant-policy.ts'

/** What a version keeps of its impact. */
export type StoredImpact = ReturnType<typeof diffPolicies> & {
  status: 'running' | 'done'
  devices_examined: number
  devices_affected: number
  grants_gained: number
  grants_lost: number
  warnings: string[]
}

/** From so many different policies on, a fleet that has more than one for every few devices is split too finely. */
const manyVariants = 1000
const devicesPerVariant = 4

/**
 * What a policy does to the fleet: one walk with both policies, which gives way to other work. A document under which
 * nearly every device has a policy of its own costs a signature and bytes for each of them: that is said.
 */
export const createImpactOf =
  ({ fleet, now }: { fleet: Fleet; now: () => Date }) =>
  async (
    tenant: TenantId,
    before: TenantPolicy,
    after: CompiledPolicy,
    /** Of a canary; without one it goes to every device. */
    rollout?: Rollout,
    /** Called for each device that was examined. */
    visit?: (device: FleetDevice, change: DeviceImpact) => void,
  ): Promise<{ impact: Impact; variants: number; warnings: string[] }> => {
    const impact = createImpact(before.versionOn(rollout ? 'canary' : 'stable').compiled, after)
    const at = now().getTime()
    const variants = new Set<string>()
    await walkFleet(await fleet.all(tenant, checksOf([after])), (device) => {
      if (rollout && !before.reaches(rollout, device)) return
      const change = impact.add(factsOf(device), at)
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
        `this document gives ${variants} different policies to ${devices} devices: rules by many overlapping groups or tags split a fleet so finely that nearly every device needs a signature and bytes of its own`,
      ]
    : []
