import type { ChannelHealth } from '@holdfast/contract/policy-rollout'
import { evaluateChecks } from '@holdfast/policy'
import { background, type Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { Fleet } from '../../devices/index.ts'
import { walkFleet } from '../fleet-walk.ts'
import type { PolicyStore } from '../store.ts'
import { factsOf } from '../tenant-policy.ts'
import { heardSince } from './gate.queries.ts'
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
  now,
}: {
  db: Database
  fleet: Fleet
  store: PolicyStore
  now: () => Date
}) {
  return async (tenant: TenantId, since: Date): Promise<Health> => {
    const heard = await db.inTenant(tenant, (tx) => heardSince(tx, tenant, since), background)
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
