import type { Selectable } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Settings as stored: section → field → value; any of them may be missing. */
export type Sections = { readonly [section in string]?: Record<string, unknown> }

/** False when the name is taken. */
export const insertTenant = async (tx: Tx, tenant: Selectable<Tables['tenants']>): Promise<boolean> => {
  const made = await tx
    .insertInto('tenants')
    .values(tenant)
    .onConflict((c) => c.column('name').doNothing())
    .returning('tenant_id')
    .executeTakeFirst()
  if (!made) return false
  await tx.insertInto('tenant_epochs').values({ tenant_id: tenant.tenant_id }).execute()
  await tx.insertInto('tenant_settings').values({ tenant_id: tenant.tenant_id, security: '{}' }).execute()
  return true
}

export const findTenant = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('tenants').select('name').where('tenant_id', '=', tenant).executeTakeFirst()

/** Passes the tenant wall: sign-in knows a name before it knows a tenant. */
export const findTenantByName = async (tx: Tx, name: string) => {
  const row = await tx.selectFrom('tenants').select('tenant_id').where('name', '=', name).executeTakeFirst()
  return row?.tenant_id
}

/** Passes the tenant wall: for work that visits every tenant. */
export const listTenants = async (tx: Tx) =>
  (await tx.selectFrom('tenants').select('tenant_id').orderBy('tenant_id').execute()).map((r) => r.tenant_id)

export const readSettings = async (tx: Tx, tenant: TenantId): Promise<Sections> => {
  const row = await tx
    .selectFrom('tenant_settings')
    .select('security')
    .where('tenant_id', '=', tenant)
    .executeTakeFirst()
  return row?.security ?? {}
}

/** As `readSettings`; until commit nobody changes them, and any number of others hold them at once. */
export const holdSettings = async (tx: Tx, tenant: TenantId): Promise<Sections> => {
  const row = await tx
    .selectFrom('tenant_settings')
    .select('security')
    .where('tenant_id', '=', tenant)
    .forShare()
    .executeTakeFirst()
  return row?.security ?? {}
}

/** Holds the row until commit, so that of two changes the second sees the first. */
export const lockSettings = async (tx: Tx, tenant: TenantId): Promise<Sections> => {
  const row = await tx
    .selectFrom('tenant_settings')
    .select('security')
    .where('tenant_id', '=', tenant)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return row.security
}

export const writeSettings = (tx: Tx, tenant: TenantId, security: Sections, at: Date) =>
  tx
    .updateTable('tenant_settings')
    .set({ security: JSON.stringify(security), updated_at: at })
    .where('tenant_id', '=', tenant)
    .execute()
