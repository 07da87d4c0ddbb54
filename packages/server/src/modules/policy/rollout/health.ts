import type { ChannelHealth } from '@holdfast/contract/policy-rollout'
import { evaluateChecks, poolsOf, type VariantContent } from '@holdfast/policy'
import { background } from '../../../db/database.ts'
import type { CanaryHealth } from '../../../db/tables/policy.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { day } from '../../../kernel/time.ts'
import type { PolicyDeps } from '../deps.ts'
import { walkFleet } from '../fleet-walk.ts'
import type { PolicyStore } from '../store.ts'
import { factsOf } from '../tenant-policy.ts'

const nobody: ChannelHealth = { devices: 0, denials: 0, failed_sessions: 0, posture_failures: 0 }

/** What is longer ago than this says little of today, and would be read again every minute. */
const longest = day
/** Since when reports of a version are looked at that was published at a time. */
export const heardFrom = (publishedAt: Date, at: Date): Date =>
  new Date(Math.max(publishedAt.getTime(), at.getTime() - longest))

/**
 * How devices fare, by the channel that each is on now, since a version was published. Devices are counted, not
 * sessions or packets: one that tries again a thousand times is one device in trouble. A device that nothing was heard
 * of says nothing. One that its policy leads through no pool can have no session.
 */
export function createHealthOf({
  db,
  fleet,
  store,
  now,
  sessionHistory,
}: Pick<PolicyDeps, 'db' | 'fleet' | 'now' | 'sessionHistory'> & { store: PolicyStore }) {
  return async (tenant: TenantId, publishedAt: Date): Promise<CanaryHealth> => {
    const since = heardFrom(publishedAt, now())
    const heard = await db.inTenant(tenant, (tx) => sessionHistory.heardSince(tx, tenant, since), background)
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
      if (found.failed || leadsNowhere(policy.variantOf(device, at).content, at)) channel.failed_sessions++
      if (evaluateChecks(policy.compiledFor(device), factsOf(device), at).verdict === 'non_compliant')
        channel.posture_failures++
    })
    return health
  }
}
export type HealthOf = ReturnType<typeof createHealthOf>

/** Gateways drop such a device without a word to it, and nothing of it is denied any more. */
function leadsNowhere(content: VariantContent, at: number): boolean {
  const pools = poolsOf(content, at)
  return pools !== 'every' && pools.size === 0
}
