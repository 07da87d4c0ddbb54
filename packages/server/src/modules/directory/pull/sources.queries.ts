import { type Selectable, sql } from 'kysely'
import { keyedLocks } from '../../../db/advisory-locks.ts'
import type { Tx } from '../../../db/database.ts'
import type { KeptReading } from '../../../db/tables/directory.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type SourceRow = Selectable<Tables['directory_sources']> & { provider: string }
/** Configurable fields of a source, except its credential. */
export type SourceFields = Pick<
  SourceRow,
  'enabled' | 'issuer' | 'client_id' | 'interval_minutes' | 'take_users' | 'take_groups' | 'group_names'
>

const provider = sql<string>`(select d.provider from directories d
  where d.tenant_id = directory_sources.tenant_id and d.directory_id = directory_sources.directory_id)`

/** Sources that are not deleted. */
export const selectSources = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('directory_sources')
    .selectAll()
    .select(provider.as('provider'))
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)

/** Serializes, until commit, the creation of sources in this tenant, so that the limit holds. */
export const lockNewSources = (tx: Tx, tenant: TenantId) =>
  sql`select pg_advisory_xact_lock(${sql.lit(keyedLocks.newDirectorySources)}, hashtext(${tenant}::text))`.execute(tx)

export const countSources = async (tx: Tx, tenant: TenantId): Promise<number> => {
  const { n } = await tx
    .selectFrom('directory_sources')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return n
}

export const findSource = (tx: Tx, tenant: TenantId, id: string): Promise<SourceRow | undefined> =>
  selectSources(tx, tenant).where('source_id', '=', id).executeTakeFirst()

/** Locks the source until commit against changes and against the start or end of a pull. */
export async function lockSource(tx: Tx, tenant: TenantId, id: string): Promise<SourceRow | undefined> {
  await tx
    .selectFrom('directory_sources')
    .select('source_id')
    .where('tenant_id', '=', tenant)
    .where('source_id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  return findSource(tx, tenant, id)
}

export const wasSourceDeleted = async (tx: Tx, tenant: TenantId, id: string): Promise<boolean> =>
  (await tx
    .selectFrom('directory_sources')
    .select('source_id')
    .where('tenant_id', '=', tenant)
    .where('source_id', '=', id)
    .executeTakeFirst()) !== undefined

type Made = Pick<SourceRow, 'source_id' | 'directory_id' | 'kind' | 'credential_jwe' | 'next_run_at'> & { at: Date }
export const insertSource = (tx: Tx, tenant: TenantId, fields: SourceFields, { at, ...made }: Made) =>
  tx
    .insertInto('directory_sources')
    .values({
      tenant_id: tenant,
      ...made,
      ...fields,
      group_names: JSON.stringify(fields.group_names),
      created_at: at,
      updated_at: at,
    })
    .execute()

type Changed = Pick<SourceRow, 'credential_jwe' | 'next_run_at' | 'kept'> & { at: Date }
export const updateSource = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  fields: SourceFields,
  { at, kept, ...changed }: Changed,
) =>
  tx
    .updateTable('directory_sources')
    .set({
      ...changed,
      ...fields,
      group_names: JSON.stringify(fields.group_names),
      kept: kept && JSON.stringify(kept),
      updated_at: at,
    })
    .where('tenant_id', '=', tenant)
    .where('source_id', '=', id)
    .execute()

export const markSourceDeleted = (tx: Tx, tenant: TenantId, id: string, at: Date) =>
  tx
    .updateTable('directory_sources')
    .set({ deleted_at: at, credential_jwe: null, next_run_at: null, kept: null })
    .where('tenant_id', '=', tenant)
    .where('source_id', '=', id)
    .execute()

type State = { next_run_at?: Date | null; failures?: number; failing_since?: Date | null; kept?: KeptReading | null }
/** Updates the fields that follow from pulls and cannot be configured. */
export const setState = (tx: Tx, tenant: TenantId, id: string, { kept, ...state }: State) =>
  tx
    .updateTable('directory_sources')
    .set({ ...state, ...(kept !== undefined && { kept: kept && JSON.stringify(kept) }) })
    .where('tenant_id', '=', tenant)
    .where('source_id', '=', id)
    .execute()

/** Bypasses tenant isolation. Sources that are due and have no pull in progress. */
export const dueSources = async (tx: Tx, at: Date, limit: number) => {
  const { rows } = await sql<{ tenant_id: TenantId; source_id: string }>`
    select s.tenant_id, s.source_id from directory_sources s
    where s.next_run_at <= ${at} and s.next_run_at is not null and s.deleted_at is null and not exists (
      select from directory_pulls p where p.tenant_id = s.tenant_id and p.source_id = s.source_id)
      and exists (select from tenants t where t.tenant_id = s.tenant_id and t.status = 'active')
    order by s.next_run_at limit ${limit}`.execute(tx)
  return rows
}

/** Deletes the stored pages of a source. The caller holds the lock of the source. */
export const forgetPages = (tx: Tx, tenant: TenantId, id: string) =>
  tx.deleteFrom('directory_pages').where('tenant_id', '=', tenant).where('source_id', '=', id).execute()
