import { background, type Database } from '../../db/database.ts'
import type { PageQuery, Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { missing } from '../../kernel/ids.ts'
import type { Assigned, Fleet } from '../devices/index.ts'
import { walkFleet } from './fleet-walk.ts'
import * as queries from './policy.queries.ts'
import type { ReachOf } from './reach.ts'
import type { PolicyStore } from './store.ts'

/**
 * `seq`: the sequence number from which gateways have the version. `devices`: sorted by id, each with its assignment.
 */
type Delivered = { seq: number; devices: Assigned[] }

/** Published versions, each with its delivery progress. */
export function createBundles({
  db,
  pager,
  fleet,
  store,
  reachOf,
  now,
}: {
  db: Database
  pager: Pager
  fleet: Fleet
  store: PolicyStore
  reachOf: ReachOf
  now: () => Date
}) {
  return {
    list: async (tenant: TenantId, query: PageQuery & { channel?: 'canary' | 'stable' }) => {
      const found = await db.inTenant(tenant, (tx) =>
        pager.list(queries.selectBundles(tx, tenant, query.channel), {
          operation: 'listPolicyBundles',
          tenant,
          query,
          orders: { version: { column: 'version', kind: 'number' } },
          tie: 'bundle_id',
        }),
      )
      const reach = await reachOf(
        tenant,
        found.items.map((b) => b.version),
      )
      return {
        items: found.items.map((bundle) => ({ bundle, reach: reach(bundle.version) })),
        next_cursor: found.next_cursor,
      }
    },
    /** The versions delivered now, by channel, with their progress. A canary is included only while it is under way. */
    current: async (tenant: TenantId) => {
      const { runningCanary, versions: newest } = await store.at(tenant)
      const versions = [runningCanary?.version, newest.stable].filter((v) => typeof v === 'number')
      const rows = await db.inTenant(tenant, (tx) => queries.bundlesOfVersions(tx, tenant, versions))
      const reach = await reachOf(tenant, versions)
      return rows.map((bundle) => ({ bundle, reach: reach(bundle.version) }))
    },
    /** Returns the devices that get a version, or undefined if it is not delivered any more. */
    deliveredTo: async (tenant: TenantId, bundleId: string): Promise<Delivered | undefined> => {
      const { version, seq } =
        (await db.inTenant(tenant, (tx) => queries.placeOfBundle(tx, tenant, bundleId))) ?? missing('policy_bundle')
      const policy = await store.at(tenant)
      if (version !== policy.runningCanary?.version && version !== policy.versions.stable) return undefined
      const devices: Assigned[] = []
      const at = now().getTime()
      await walkFleet(await fleet.all(tenant), (device) => {
        const variant = policy.variantOf(device, at)
        if (variant.version === version) devices.push({ deviceId: device.deviceId, digest: variant.digest })
      })
      // Most of them are in this order already.
      return { seq, devices: devices.sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1)) }
    },
    /** Across tenants: delivered versions that were published after a time. */
    publishedSince: (after: Date) => db.acrossTenants((tx) => queries.deliveredSince(tx, after), background),
    /** Returns one published version, and if it is delivered now. Undefined if it does not exist. */
    published: async (tenant: TenantId, bundleId: string) => {
      const bundle = await db.inTenant(tenant, (tx) => queries.placeOfBundle(tx, tenant, bundleId))
      if (!bundle) return undefined
      const { runningCanary, versions } = await store.at(tenant)
      return { ...bundle, isDelivered: [runningCanary?.version, versions.stable].includes(bundle.version) }
    },
    get: async (tenant: TenantId, bundleId: string) => {
      const bundle =
        (await db.inTenant(tenant, (tx) => queries.bundleById(tx, tenant, bundleId))) ?? missing('policy_bundle')
      return { bundle, reach: (await reachOf(tenant, [bundle.version]))(bundle.version) }
    },
  }
}
export type Bundles = ReturnType<typeof createBundles>
