import { type Insertable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { hasPrefix } from '../../../db/page.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

const columns = [
  'tenant_id',
  'name',
  'display_name',
  'status',
  'plan_id',
  'limits',
  'created_at',
  'updated_at',
  'suspended_at',
  'delete_after',
] as const

const planName = sql<string | null>`(select p.name from plans p where p.plan_id = tenants.plan_id)`.as('plan')

/** False if the name is taken. The database makes its counters. */
export const insertTenant = async (
  tx: Tx,
  tenant: Omit<Insertable<Tables['tenants']>, 'limits'> & { limits?: object },
): Promise<boolean> => {
  const made = await tx
    .insertInto('tenants')
    .values({ ...tenant, limits: JSON.stringify(tenant.limits ?? {}) })
    .onConflict((c) => c.column('name').doNothing())
    .returning('tenant_id')
    .executeTakeFirst()
  if (!made) return false
  await tx.insertInto('tenant_epochs').values({ tenant_id: tenant.tenant_id }).execute()
  await tx.insertInto('tenant_settings').values({ tenant_id: tenant.tenant_id, security: '{}' }).execute()
  return true
}

/** Also finds deleted tenants, as long as their row stays. */
export const findTenant = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('tenants').select(columns).select(planName).where('tenant_id', '=', tenant).executeTakeFirst()
export type TenantRow = NonNullable<Awaited<ReturnType<typeof findTenant>>>

export const lockTenant = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('tenants')
    .select(columns)
    .select(planName)
    .where('tenant_id', '=', tenant)
    .forNoKeyUpdate()
    .executeTakeFirst()

/** Across tenants: a sign-in knows a name before it knows a tenant. */
export const findTenantByName = async (tx: Tx, name: string) => {
  const row = await tx.selectFrom('tenants').select('tenant_id').where('name', '=', name).executeTakeFirst()
  return row?.tenant_id
}

/** Across tenants: for work that visits every tenant that is not deleted. */
export const listTenants = async (tx: Tx) =>
  (
    await tx.selectFrom('tenants').select('tenant_id').where('deleted_at', 'is', null).orderBy('tenant_id').execute()
  ).map((r) => r.tenant_id)

/**
 * The planner takes the row-level security filter for a selective one, even if it is off, and would sort all tenants
 * for one page. So this transaction reads in index order.
 */
export const readInOrder = (tx: Tx) => sql`set local enable_sort = off`.execute(tx)

type Filter = { status?: TenantRow['status']; plan_id?: string; q?: string }
/** Across tenants if `only` is undefined; otherwise that one tenant. */
export const selectTenants = (tx: Tx, only: TenantId | undefined, { status, plan_id, q: prefix }: Filter) => {
  let q = tx.selectFrom('tenants').select(columns).select(planName).where('deleted_at', 'is', null)
  if (only !== undefined) q = q.where('tenant_id', '=', only)
  if (status !== undefined) q = q.where('status', '=', status)
  if (plan_id !== undefined) q = q.where('plan_id', '=', plan_id)
  if (prefix !== undefined) q = q.where(hasPrefix('name_key', prefix))
  return q
}

export type TenantFields = { name: string; display_name: string; plan_id: string | null; limits: object }
export const updateTenant = (tx: Tx, tenant: TenantId, { limits, ...fields }: TenantFields, at: Date) =>
  tx
    .updateTable('tenants')
    .set({ ...fields, limits: JSON.stringify(limits), updated_at: at })
    .where('tenant_id', '=', tenant)
    .execute()

/** Moves a tenant to another state, if its current state allows that. True for the one call that made the move. */
export const tenantTransitions = {
  suspend: (tx: Tx, tenant: TenantId, at: Date) =>
    affectedRow(
      tx
        .updateTable('tenants')
        .set({ suspended_at: at, updated_at: at })
        .where('tenant_id', '=', tenant)
        .where('suspended_at', 'is', null)
        .where('delete_after', 'is', null)
        .returning('tenant_id'),
    ),
  reactivate: (tx: Tx, tenant: TenantId, at: Date) =>
    affectedRow(
      tx
        .updateTable('tenants')
        .set({ suspended_at: null, updated_at: at })
        .where('tenant_id', '=', tenant)
        .where('suspended_at', 'is not', null)
        .where('delete_after', 'is', null)
        .returning('tenant_id'),
    ),
  delete: (tx: Tx, tenant: TenantId, at: Date, after: Date) =>
    affectedRow(
      tx
        .updateTable('tenants')
        .set({ delete_after: after, updated_at: at })
        .where('tenant_id', '=', tenant)
        .where('delete_after', 'is', null)
        .where('deleted_at', 'is', null)
        .returning('tenant_id'),
    ),
  cancel_deletion: (tx: Tx, tenant: TenantId, at: Date) =>
    affectedRow(
      tx
        .updateTable('tenants')
        .set({ delete_after: null, updated_at: at })
        .where('tenant_id', '=', tenant)
        .where('delete_after', 'is not', null)
        .where('deleted_at', 'is', null)
        .returning('tenant_id'),
    ),
}
