import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { type Assigned, appliedAmong, type Fleet } from '../devices/index.ts'
import { walkFleet } from './fleet-walk.ts'
import { appliedCounts } from './policy.queries.ts'
import type { PolicyStore } from './store.ts'
import type { Reach } from './view.ts'

const notCurrent: Reach = { current: false, variants: 0, applied: 0, pending: 0, digests: [] }

type Counted = { applied_digest: string | null; devices: number }
const countsOf = (rows: readonly Counted[]) => new Map(rows.map((row) => [row.applied_digest, Number(row.devices)]))

/**
 * Delivery progress of the current versions: their variants, and the devices that report to apply them. A device that
 * the canary does not change has the same digest on both channels, and counts on its own channel only.
 */
export function createReach({
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
  const reachOf = async (tenant: TenantId, versions: readonly number[]): Promise<(version: number) => Reach> => {
    const policy = await store.at(tenant)
    const current = new Set([policy.runningCanary?.version, policy.versions.stable])
    if (!versions.some((v) => current.has(v))) return () => notCurrent
    const assigned = new Map<number, Map<string, number>>()
    const onCanary: Assigned[] = []
    const at = now().getTime()
    await walkFleet(await fleet.all(tenant), (device) => {
      const { version, digest } = policy.variantOf(device, at)
      const byDigest = assigned.get(version) ?? new Map<string, number>()
      assigned.set(version, byDigest.set(digest, (byDigest.get(digest) ?? 0) + 1))
      if (version === policy.runningCanary?.version) onCanary.push({ deviceId: device.deviceId, digest })
    })
    const digestsOf = (version: number) => [...(assigned.get(version)?.keys() ?? [])]
    const isShared = (digest: string) => [...assigned.values()].every((byDigest) => byDigest.has(digest))
    const shared = assigned.size < 2 ? [] : onCanary.filter(({ digest }) => isShared(digest))
    const [all, sharedOnCanary] = await db.inTenant(tenant, async (tx) => [
      countsOf(await appliedCounts(tx, tenant, [...new Set([...assigned.keys()].flatMap(digestsOf))])),
      shared.length === 0 ? new Map<string, number>() : countsOf(await appliedAmong(tx, tenant, shared)),
    ])
    /** Devices of one version that apply a digest. Those of stable are the others than those of the canary. */
    const appliedOn = (version: number, digest: string): number => {
      const canary = sharedOnCanary.get(digest) ?? 0
      if (assigned.size < 2 || !isShared(digest)) return all.get(digest) ?? 0
      return version === policy.runningCanary?.version ? canary : (all.get(digest) ?? 0) - canary
    }
    return (version) => {
      if (!current.has(version)) return notCurrent
      const byDigest = [...(assigned.get(version) ?? [])]
      const devices = byDigest.reduce((sum, [, count]) => sum + count, 0)
      const applied = byDigest.reduce((sum, [digest, count]) => sum + Math.min(appliedOn(version, digest), count), 0)
      const digests = digestsOf(version)
      return { current: true, variants: digests.length, applied, pending: devices - applied, digests }
    }
  }
  return reachOf
}
export type ReachOf = ReturnType<typeof createReach>
