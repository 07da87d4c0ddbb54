import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Fleet } from '../devices/index.ts'
import { walkFleet } from './fleet-walk.ts'
import { appliedCounts } from './policy.queries.ts'
import type { PolicyStore } from './store.ts'
import type { Reach } from './view.ts'

const notCurrent: Reach = { current: false, variants: 0, applied: 0, pending: 0, digests: [] }

/** Delivery progress of the current versions: their variants, and the devices that report to apply them. */
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
    const devicesByDigest = new Map<string, number>()
    const digestsByVersion = new Map<number, Set<string>>()
    const at = now().getTime()
    await walkFleet(await fleet.all(tenant), (device) => {
      const variant = policy.variantOf(device, at)
      devicesByDigest.set(variant.digest, (devicesByDigest.get(variant.digest) ?? 0) + 1)
      const digests = digestsByVersion.get(variant.version) ?? new Set()
      digestsByVersion.set(variant.version, digests.add(variant.digest))
    })
    const counts = await db.inTenant(tenant, (tx) => appliedCounts(tx, tenant, [...devicesByDigest.keys()]))
    const appliedByDigest = new Map(counts.map((c) => [c.applied_digest, Number(c.devices)]))
    return (version) => {
      if (!current.has(version)) return notCurrent
      const digests = [...(digestsByVersion.get(version) ?? [])]
      const devices = digests.reduce((sum, d) => sum + (devicesByDigest.get(d) ?? 0), 0)
      const applied = digests.reduce(
        (sum, d) => sum + Math.min(appliedByDigest.get(d) ?? 0, devicesByDigest.get(d) ?? 0),
        0,
      )
      return { current: true, variants: digests.length, applied, pending: devices - applied, digests }
    }
  }
  return reachOf
}
export type ReachOf = ReturnType<typeof createReach>
