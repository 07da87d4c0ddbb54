import { randomBytes } from 'node:crypto'
import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Handlers } from '../../http/handlers.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { versioned } from '../../kernel/version.ts'
import { createSettings, type SettingsDeps } from './settings.ts'
import { findTenant, findTenantByName, insertTenant, listTenants } from './tenants.queries.ts'

export function createTenancy(deps: SettingsDeps) {
  const { db, audit, now } = deps
  const settings = createSettings(deps)
  // A tenant keeps its name and is never removed, so what was seen once stays true.
  const names = new BoundedMap<TenantId, string>(10_000)

  const nameOf = async (tenant: TenantId): Promise<string | undefined> => {
    const seen = names.get(tenant)
    if (seen !== undefined) return seen
    const row = await db.inTenant(tenant, (tx) => findTenant(tx, tenant))
    if (row) names.set(tenant, row.name)
    return row?.name
  }

  return {
    settings: (tenant: TenantId): SecuritySettings | Promise<SecuritySettings> => settings.read(tenant),
    nameOf,
    exists: async (tenant: TenantId): Promise<boolean> => (await nameOf(tenant)) !== undefined,
    tenantByName: (name: string): Promise<TenantId | undefined> => db.acrossTenants((tx) => findTenantByName(tx, name)),
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

    handlers: {
      getSecuritySettings: async ({ actor }) => {
        const found = await settings.read(actor.tenantId)
        return versioned(found, found)
      },
      updateSecuritySettings: ({ actor, body, expected }) => settings.replace(actor, body, expected),
    } satisfies Partial<Handlers>,
  }
}
export type Tenancy = ReturnType<typeof createTenancy>
