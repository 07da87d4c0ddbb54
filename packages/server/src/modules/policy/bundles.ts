import type { Database } from '../../db/database.ts'
import type { PageQuery, Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { missing } from '../../kernel/ids.ts'
import * as queries from './policy.queries.ts'
import type { ReachOf } from './reach.ts'

/** Published versions, each with how far it has got. */
export function createBundles({ db, pager, reachOf }: { db: Database; pager: Pager; reachOf: ReachOf }) {
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
    get: async (tenant: TenantId, bundleId: string) => {
      const bundle =
        (await db.inTenant(tenant, (tx) => queries.bundleById(tx, tenant, bundleId))) ?? missing('policy_bundle')
      return { bundle, reach: (await reachOf(tenant, [bundle.version]))(bundle.version) }
    },
  }
}
export type Bundles = ReturnType<typeof createBundles>
