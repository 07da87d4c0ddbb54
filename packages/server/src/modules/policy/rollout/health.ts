import type { ChannelHealth } from '@holdfast/contract/policy-rollout'
import { evaluateChecks, poolsOf, type VariantContent } from '@holdfast/policy'
import { background } from '../../../db/database.ts'
import type { CanaryHealth } from '../../../db/tables/policy.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { day } from '../../../kernel/time.ts'
import type { PolicyDeps } from '../deps.ts'
import { walkFleet } from '../fleet-walk.ts'
import type { PolicyStore } from '../store.ts'
import { deviceFactsOf } from '../tenant-policy.ts'

const nobody: ChannelHealth = { devices: 0, denials: 0, failed_sessions: 0, posture_failures: 0 }

/** Longest span of reports that counts. Older ones say little about now, and each minute would read them again. */
const longest = day
/** Returns the time from which reports count for a version published at a time. */
export const reportedFrom = (publishedAt: Date, at: Date): Date =>
  new Date(Math.max(publishedAt.getTime(), at.getTime() - longest))

/**
 * Counts devices in trouble since a version was published, by the channel that each is on now. It counts devices, not
 * sessions or packets: a device that retries a thousand times counts once. A device without reports is left out. A
 * device whose policy gives it no pool counts as unable to connect.
 */
export function createHealthOf({
  db,
  fleet,
  store,
  now,
  sessionHistory,
}: Pick<PolicyDeps, 'db' | 'fleet' | 'now' | 'sessionHistory'> & { store: PolicyStore }) {
  return async (tenant: TenantId, publishedAt: Date): Promise<CanaryHealth> => {
    const since = reportedFrom(publishedAt, now())
    const reports = await db.inTenant(tenant, (tx) => sessionHistory.reportedSince(tx, tenant, since), background)
    const byDevice = new Map(reports.map((h) => [h.device_id, h]))
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
      if (evaluateChecks(policy.compiledFor(device), deviceFactsOf(device), at).verdict === 'non_compliant')
        channel.posture_failures++
    })
    return health
  }
}
export type HealthOf = ReturnType<typeof createHealthOf>

/**
 * True if the policy leads through no pool. Gateways drop such a device silently, so no denial is ever reported for it.
 */
function leadsNowhere(content: VariantContent, at: number): boolean {
  const pools = poolsOf(content, at)
  return pools !== 'every' && pools.size === 0
}
