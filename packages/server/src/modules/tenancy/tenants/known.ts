import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { whenReady } from '../../../kernel/ready.ts'
import { held } from '../../../memory/held.ts'
import type { TenancyDeps } from '../deps.ts'
import { readTenantId } from './tenant-id.ts'
import { findTenant, findTenantByName, listTenants, type TenantRow } from './tenants.queries.ts'

type Known = { name: string | undefined; status: TenantRow['status'] }

/** Which tenants there are, as every verifier and every warm read asks: in memory, true within a second. */
export function createKnown({ db, changes, feed }: Pick<TenancyDeps, 'db' | 'changes' | 'feed'>) {
  const { get } = held<Known>(
    { changes, feed },
    {
      kinds: ['tenant'],
      load: async (tenant) => {
        const row = await db.inTenant(tenant, (tx) => findTenant(tx, tenant))
        return row ? { name: row.name, status: row.status } : { name: undefined, status: 'deleted' }
      },
    },
  )
  // Where a name led; whoever has it now is looked up.
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
    /** At once where it is known; `deleted` also for what never was. */
    statusOf: (tenant: TenantId): Known['status'] | Promise<Known['status']> =>
      whenReady(get(tenant), ({ status }) => status),
    /** The tenant of an id that a stranger may have invented: known without a statement, within a second of its making. */
    tenantNamed: (id: string): TenantId | undefined => {
      const tenant = readTenantId(id)
      return tenant !== undefined && feed.knows(tenant) ? tenant : undefined
    },
    /** Whether a platform administrator may look into it. */
    exists: async (tenant: TenantId): Promise<boolean> => (await get(tenant)).status !== 'deleted',
    /** The open tenant of this name. Anybody may name one that is there: it costs a statement once. */
    tenantByName: async (name: string): Promise<TenantId | undefined> => {
      const tenant = await idOf(name)
      return tenant && (await get(tenant)).status === 'active' ? tenant : undefined
    },
    listTenantIds: (): Promise<TenantId[]> => db.acrossTenants(listTenants),
  }
}
