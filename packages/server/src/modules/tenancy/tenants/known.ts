import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { mapMaybePromise } from '../../../kernel/maybe-promise.ts'
import { tenantCache } from '../../../replication/tenant-cache.ts'
import type { TenancyDeps } from '../deps.ts'
import { readTenantId } from '../tenant-id.ts'
import { findTenant, findTenantByName, listTenants, type TenantRow } from './tenants.queries.ts'

type Known = { name: string | undefined; status: TenantRow['status'] }

/** Cache of the existing tenants, for every verifier and every warm read. It is up to date within a second. */
export function createKnown({ db, changes, feed }: Pick<TenancyDeps, 'db' | 'changes' | 'feed'>) {
  const { get } = tenantCache<Known>(
    { changes, feed },
    {
      kinds: ['tenant'],
      load: async (tenant) => {
        const row = await db.inTenant(tenant, (tx) => findTenant(tx, tenant))
        return row ? { name: row.name, status: row.status } : { name: undefined, status: 'deleted' }
      },
    },
  )
  // Tenants by the name that they had; the current name is then checked.
  const ids = new BoundedMap<string, TenantId>(10_000)

  const idOf = async (name: string): Promise<TenantId | undefined> => {
    const seen = ids.get(name)
    if (seen && (await get(seen)).name === name) return seen
    const found = await db.acrossTenants((tx) => findTenantByName(tx, name))
    if (found) ids.set(name, found)
    return found
  }

  return {
    nameOf: async (tenant: TenantId): Promise<string | undefined> => (await get(tenant)).name,
    /** Synchronous if it is cached. Also `deleted` for a tenant that never existed. */
    statusOf: (tenant: TenantId): Known['status'] | Promise<Known['status']> =>
      mapMaybePromise(get(tenant), ({ status }) => status),
    /**
     * Returns the tenant of an id that may be invented. It costs no statement. A new tenant is known within a second.
     */
    tenantNamed: (id: string): TenantId | undefined => {
      const tenant = readTenantId(id)
      return tenant !== undefined && feed.knows(tenant) ? tenant : undefined
    },
    /** True if a platform administrator may read the tenant. */
    exists: async (tenant: TenantId): Promise<boolean> => (await get(tenant)).status !== 'deleted',
    /** Returns the active tenant of this name. For an existing name it costs a statement only once. */
    tenantByName: async (name: string): Promise<TenantId | undefined> => {
      const tenant = await idOf(name)
      return tenant && (await get(tenant)).status === 'active' ? tenant : undefined
    },
    listTenantIds: (): Promise<TenantId[]> => db.acrossTenants(listTenants),
  }
}
