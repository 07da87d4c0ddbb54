import { randomBytes } from 'node:crypto'
import type { Database } from '../../db/database.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import type { Audit } from '../audit/index.ts'
import { findTenant, findTenantByName, insertTenant, listTenants } from './tenants.queries.ts'

export function createTenants({ db, audit, now }: { db: Database; audit: Audit; now: () => Date }) {
  // A tenant keeps its name and is never removed, so what was seen once stays true.
  const names = new BoundedMap<TenantId, string>(10_000)
  const ids = new BoundedMap<string, TenantId>(10_000)

  const nameOf = async (tenant: TenantId): Promise<string | undefined> => {
    const seen = names.get(tenant)
    if (seen !== undefined) return seen
    const row = await db.inTenant(tenant, (tx) => findTenant(tx, tenant))
    if (row) names.set(tenant, row.name)
    return row?.name
  }

  return {
    nameOf,
    exists: async (tenant: TenantId): Promise<boolean> => (await nameOf(tenant)) !== undefined,
    /** Anybody may name one that is there: it costs a statement once. */
    tenantByName: async (name: string): Promise<TenantId | undefined> => {
      const tenant = ids.get(name) ?? (await db.acrossTenants((tx) => findTenantByName(tx, name)))
      if (tenant) ids.set(name, tenant)
      return tenant
    },
    listTenantIds: (): Promise<TenantId[]> => db.acrossTenants(listTenants),

    /** The tenant of this name, made if there is none: two first starts at once agree on one. */
    createTenant: async (name: string): Promise<TenantId> => {
      const tenant = newUuid() as TenantId
      const made = await db.inTenant(tenant, async (tx) => {
        const row = { tenant_id: tenant, name, canary_salt: randomBytes(16), created_at: now() }
        if (!(await insertTenant(tx, row))) return false
        const target = { type: 'tenant', id: encodeId('tenant', tenant), name }
        await audit.record(tx, jobSource(tenant, 'bootstrap'), 'tenant.created', { name }, { target })
        return true
      })
      if (made) return tenant
      const existing = await db.acrossTenants((tx) => findTenantByName(tx, name))
      if (!existing) throw new Error(`tenant ${name} is taken but can't be found`)
      return existing
    },
  }
}
