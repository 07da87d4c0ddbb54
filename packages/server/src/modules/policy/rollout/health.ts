import type { ChannelHealth } from '@holdfast/contract/policy-rollout'
import { evaluateChecks } from '@holdfast/policy'
import { background } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { PolicyDeps } from '../deps.ts'
import { walkFleet } from '../fleet-walk.ts'
import type { PolicyStore } from '../store.ts'
import { factsOf } from '../tenant-policy.ts'
import type { Health } from './verdict.ts'

const nobody: ChannelHealth = { devices: 0, denials: 0, failed_sessions: 0, posture_failures: 0 }

/**
 * How devices fare since a moment, by the channel that each is on now. Devices are counted, not sessions or packets:
 * one that tries again a thousand times is one device in trouble. A device that nothing was heard of says nothing.
 */
export function createHealthOf({
  db,
  fleet,
  store,
  reported,
  now,
}: Pick<PolicyDeps, 'db' | 'fleet' | 'reported' | 'now'> & { store: PolicyStore }) {
  return async (tenant: TenantId, since: Date): Promise<Health> => {
    const heard = await db.inTenant(tenant, (tx) => reported.heardSince(tx, tenant, since), background)
    const byDevice = new Map(heard.map((h) => [h.device_id, h]))
    const policy = await store.at(tenant)
    const at = now().getTime()
    const health = { canary: { ...nobody }, stable: { ...nobody } }
    await walkFleet(await fleet.all(tenant), (device) => {
      const found = byDevice.get(device.deviceId)
      if (!found) return
      const channel = health[policy.channelOf(device)]
      channel.devices++
      if (found.denied) channel.denials++
      if (found.failed) channel.failed_sessions++
      if (evaluateChecks(policy.compiledFor(device), factsOf(device), at).verdict === 'non_compliant')
        channel.posture_failures++
    })
    return health
  }
}
export type HealthOf = ReturnType<typeof createHealthOf>
