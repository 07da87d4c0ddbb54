import { sql } from 'kysely'
import { keyedLocks } from '../../db/advisory-locks.ts'
import { affectedRow } from '../../db/affected-row.ts'
import type { Tx } from '../../db/database.ts'
import { purgeTime } from '../../db/kept.ts'
import { deleting } from '../../db/retention.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

type ViewList = Tables['saved_views']['list']
/** The caller: a person of the tenant (or null), and the lists that the caller may read. */
export type Viewer = { person: string | null; lists: readonly ViewList[] }

const selectViews = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('saved_views')
    .select(['tenant_id', 'view_id', 'owner_id', 'list', 'name', 'query', 'shared', 'created_at', 'updated_at'])
    .select(
      sql<string | null>`(select u.username from users u
        where u.tenant_id = ${tenant} and u.user_id = saved_views.owner_id and u.deleted_at is null)`.as('owner_name'),
    )
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)

/** Returns the viewer's own views, and shared views of lists that the viewer may read. */
export const selectVisible = (
  tx: Tx,
  tenant: TenantId,
  { person, lists }: Viewer,
  filter: { list?: ViewList; shared?: boolean },
) => {
  let q = selectViews(tx, tenant).where(
    sql<boolean>`(owner_id = ${person}::uuid or shared and list = any(${lists}::text[]))`,
  )
  if (filter.list !== undefined) q = q.where('list', '=', filter.list)
  if (filter.shared !== undefined) q = q.where('shared', '=', filter.shared)
  return q
}
export const findVisible = (tx: Tx, tenant: TenantId, viewer: Viewer, id: string) =>
  selectVisible(tx, tenant, viewer, {}).where('view_id', '=', id).executeTakeFirst()
export type ViewRow = NonNullable<Awaited<ReturnType<typeof findVisible>>>

/** Serializes adding and sharing of views in this tenant until commit, so that the count is exact. */
export const lockNewViews = (tx: Tx, tenant: TenantId) =>
  sql`select pg_advisory_xact_lock(${sql.lit(keyedLocks.newSavedViews)}, hashtext(${tenant}::text))`.execute(tx)

/** Locks a view until commit, then reads it. */
export const lockView = async (tx: Tx, tenant: TenantId, viewer: Viewer, id: string): Promise<ViewRow | undefined> => {
  await tx
    .selectFrom('saved_views')
    .select('view_id')
    .where('tenant_id', '=', tenant)
    .where('view_id', '=', id)
    .forNoKeyUpdate()
    .execute()
  return findVisible(tx, tenant, viewer, id)
}

/** True if the view is deleted and the viewer could have seen it. */
export const wasViewDeleted = async (
  tx: Tx,
  tenant: TenantId,
  { person, lists }: Viewer,
  id: string,
): Promise<boolean> =>
  (await tx
    .selectFrom('saved_views')
    .select('view_id')
    .where('tenant_id', '=', tenant)
    .where('view_id', '=', id)
    .where('deleted_at', 'is not', null)
    .where(sql<boolean>`(owner_id = ${person}::uuid or shared and list = any(${lists}::text[]))`)
    .executeTakeFirst()) !== undefined

export const countViews = async (tx: Tx, tenant: TenantId, person: string | null) => {
  const { rows } = await sql<{ own: number; shared: number }>`
    select count(*) filter (where owner_id = ${person}::uuid) as own, count(*) filter (where shared) as shared
    from saved_views where tenant_id = ${tenant} and deleted_at is null and (owner_id = ${person}::uuid or shared)`.execute(
    tx,
  )
  return rows[0] ?? { own: 0, shared: 0 }
}

export type ViewFields = { name: string; query: Record<string, string>; shared: boolean }
export const insertView = (
  tx: Tx,
  tenant: TenantId,
  view: ViewFields & { id: string; owner: string | null; list: ViewList; at: Date },
) =>
  tx
    .insertInto('saved_views')
    .values({
      tenant_id: tenant,
      view_id: view.id,
      owner_id: view.owner,
      list: view.list,
      name: view.name,
      query: JSON.stringify(view.query),
      shared: view.shared,
      created_at: view.at,
      updated_at: view.at,
    })
    .execute()
export const updateView = (tx: Tx, tenant: TenantId, id: string, { name, query, shared }: ViewFields, at: Date) =>
  tx
    .updateTable('saved_views')
    .set({ name, query: JSON.stringify(query), shared, updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('view_id', '=', id)
    .where('deleted_at', 'is', null)
    .execute()
/** True for the one call that deleted the view. */
export const deleteView = (tx: Tx, tenant: TenantId, id: string, at: Date): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('saved_views')
      .set({ deleted_at: at, updated_at: at })
      .where('tenant_id', '=', tenant)
      .where('view_id', '=', id)
      .where('deleted_at', 'is', null)
      .returning('view_id'),
  )

/** Purges views one day after their deletion, and the private views of deleted users, which nobody can see. */
export const pruneViews = deleting(
  'saved_views',
  sql`(deleted_at < ${purgeTime} - interval '1 day' or not shared and exists (select from users u
    where u.tenant_id = saved_views.tenant_id and u.user_id = saved_views.owner_id and u.deleted_at is not null))`,
)
