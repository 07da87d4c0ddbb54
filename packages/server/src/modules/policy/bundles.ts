import type { Database } from '../../db/database.ts'
import type { PageQuery, Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { missing } from '../../kernel/ids.ts'
import * as queries from './policy.queries.ts'
import type { ReachOf } from './reach.ts'
import type { PolicyStore } from './store.ts'

/** Published versions, each with how far it has got. */
export function createBundles({
  db,
  pager,
  store,
  reachOf,
}: {
  db: Database
  pager: Pager
  store: PolicyStore
  reachOf: ReachOf
}) {
  return {
    list: async (tenant: TenantId, query: PageQuery & { channel?: 'canary' | 'stable' }) => {
      const found = await db.inTenant(tenant, (tx) =>
        pager.list(queries.selectBundles(tx, tenant, query.channel), {
          operation: 'listPolicyBundles',
          tenant,
          query,
          orders: { version: { column: 'version', kind: 'number' } },
          otherwise: '-version',
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
    /** What each channel delivers, and how far that has got. */
    current: async (tenant: TenantId) => {
      const { canary, stable } = (await store.at(tenant)).versions
      const versions = [canary, stable].filter((v) => v !== null)
      const rows = await db.inTenant(tenant, (tx) => queries.bundlesOfVersions(tx, tenant, versions))
      const reach = await reachOf(tenant, versions)
      return rows.map((bundle) => ({ bundle, reach: reach(bundle.version) }))
    },
    get: async (tenant: TenantId, bundleId: string) => {
      const bundle =
        (await db.inTenant(tenant, (tx) => queries.bundleById(tx, tenant, bundleId))) ?? missing('policy_bundle')
      return { bundle, reach: (await reachOf(tenant, [bundle.version]))(bundle.version) }
    },
  }
}
export type Bundles = ReturnType<typeof createBundles>
