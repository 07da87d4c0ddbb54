import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../db/affected-row.ts'
import type { Tx } from '../../db/database.ts'
import { isNotAllHeld, purgeTime } from '../../db/kept.ts'
import { deleting } from '../../db/retention.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type DirectoryOfRun = Pick<
  Selectable<Tables['directories']>,
  'directory_id' | 'provider' | 'generated_at' | 'source'
>
export type DirectoryRunRow = Omit<Selectable<Tables['directory_runs']>, 'provider_key'>

const columns = [
  'tenant_id',
  'run_id',
  'directory_id',
  'provider',
  'snapshot_id',
  'generated_at',
  'status',
  'counts',
  'held_because',
  'diff',
  'problems',
  'problem_count',
  'started_at',
  'finished_at',
  'confirmed_at',
  'undone_at',
  'source',
  'source_id',
  'progress',
  'failure',
] as const

export const insertDirectory = (
  tx: Tx,
  directory: Pick<
    Selectable<Tables['directories']>,
    'tenant_id' | 'directory_id' | 'provider' | 'created_at' | 'source'
  >,
) =>
  tx
    .insertInto('directories')
    .values(directory)
    .onConflict((c) => c.columns(['tenant_id', 'provider_key']).doNothing())
    .execute()

const selectDirectory = (tx: Tx, tenant: TenantId, provider: string) =>
  tx
    .selectFrom('directories')
    .select(['directory_id', 'provider', 'generated_at', 'source'])
    .where('tenant_id', '=', tenant)
    .where('provider_key', '=', sql<string>`lower(${provider})`)
export const findDirectory = (tx: Tx, tenant: TenantId, provider: string): Promise<DirectoryOfRun | undefined> =>
  selectDirectory(tx, tenant, provider).executeTakeFirst()

/** Locks the directory until commit, so that only one run at a time reads and judges its state. */
export const lockDirectory = (tx: Tx, tenant: TenantId, id: string): Promise<DirectoryOfRun | undefined> =>
  tx
    .selectFrom('directories')
    .select(['directory_id', 'provider', 'generated_at', 'source'])
    .where('tenant_id', '=', tenant)
    .where('directory_id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()

export const setGeneratedAt = (tx: Tx, tenant: TenantId, id: string, at: Date) =>
  tx
    .updateTable('directories')
    .set({ generated_at: at })
    .where('tenant_id', '=', tenant)
    .where('directory_id', '=', id)
    .execute()

export const selectDirectories = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('directories')
    .select(['directory_id', 'provider', 'generated_at', 'source'])
    .where('tenant_id', '=', tenant)

type Measured = 'counts' | 'held_because' | 'diff' | 'problems'
type Later = 'confirmed_at' | 'undone_at' | 'source_id' | 'progress' | 'failure'
export type NewRun = Omit<DirectoryRunRow, Measured | Later | 'source'> & {
  source?: DirectoryRunRow['source']
  counts: object
  held_because: readonly object[]
  diff: readonly object[]
  problems: readonly object[]
}
export const insertDirectoryRun = (tx: Tx, { counts, held_because, diff, problems, ...run }: NewRun) =>
  tx
    .insertInto('directory_runs')
    .values({
      ...run,
      counts: JSON.stringify(counts),
      held_because: JSON.stringify(held_because),
      diff: JSON.stringify(diff),
      problems: JSON.stringify(problems),
    })
    .execute()

/** Replaces a held run by the result of its confirmation. True for the one call that did. */
export const settleHeld = async (
  tx: Tx,
  tenant: TenantId,
  id: string,
  {
    counts,
    diff,
    problems,
    ...run
  }: Pick<NewRun, 'status' | 'counts' | 'diff' | 'problems' | 'problem_count' | 'finished_at'>,
): Promise<boolean> => {
  const row = await tx
    .updateTable('directory_runs')
    .set({
      ...run,
      confirmed_at: run.finished_at,
      counts: JSON.stringify(counts),
      diff: JSON.stringify(diff),
      problems: JSON.stringify(problems),
    })
    .where('tenant_id', '=', tenant)
    .where('run_id', '=', id)
    .where('status', '=', 'held')
    .returning('run_id')
    .executeTakeFirst()
  return row !== undefined
}

/** Cancels a held run, which can then no longer be confirmed. True for the one call that did. */
export const cancelHeld = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  { failure, at }: { failure: string; at: Date },
): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('directory_runs')
      .set({ status: 'cancelled', failure, finished_at: at })
      .where('tenant_id', '=', tenant)
      .where('run_id', '=', id)
      .where('status', '=', 'held')
      .returning('run_id'),
  )

/**
 * Supersedes held runs after a newer run, so that they can no longer be confirmed. The caller holds the directory lock.
 */
export const supersedeHeld = async (tx: Tx, tenant: TenantId, directory: string, by: string): Promise<void> => {
  const { rows } = await sql<{ run_id: string }>`
    with locked as (
      select run_id from directory_runs where tenant_id = ${tenant} and directory_id = ${directory} and status = 'held'
        and run_id <> ${by}
      order by run_id for no key update)
    update directory_runs r set status = 'superseded' from locked
    where r.tenant_id = ${tenant} and r.run_id = locked.run_id returning r.run_id`.execute(tx)
  for (const { run_id } of rows) await deleteContent(tx, tenant, run_id)
}

type Filter = { provider?: string; status?: DirectoryRunRow['status'] }
export const selectDirectoryRuns = (tx: Tx, tenant: TenantId, { provider, status }: Filter = {}) => {
  let q = tx.selectFrom('directory_runs').select(columns).where('tenant_id', '=', tenant)
  if (provider !== undefined) q = q.where('provider_key', '=', sql<string>`lower(${provider})`)
  return status === undefined ? q : q.where('status', '=', status)
}
export const findDirectoryRun = (tx: Tx, tenant: TenantId, id: string): Promise<DirectoryRunRow | undefined> =>
  selectDirectoryRuns(tx, tenant).where('run_id', '=', id).executeTakeFirst()

/** The run of a snapshot that was accepted, including one that was held and dismissed. Cancelled pulls are left out. */
export async function runOfSnapshot(
  tx: Tx,
  tenant: TenantId,
  directory: string,
  snapshot: string,
): Promise<DirectoryRunRow | undefined> {
  const its = selectDirectoryRuns(tx, tenant).where('directory_id', '=', directory).where('snapshot_id', '=', snapshot)
  // Each query uses its own index.
  const taken = await its.where('status', 'in', ['applied', 'held', 'unchanged', 'superseded']).executeTakeFirst()
  return taken ?? its.where('status', '=', 'cancelled').where('source_id', 'is', null).executeTakeFirst()
}

type Which = 'any' | 'applied' | 'succeeded' | 'held'
const statuses: Record<Exclude<Which, 'any'>, DirectoryRunRow['status'][]> = {
  applied: ['applied'],
  succeeded: ['applied', 'unchanged'],
  held: ['held'],
}
export const newestRun = (
  tx: Tx,
  tenant: TenantId,
  directory: string,
  which: Which,
): Promise<DirectoryRunRow | undefined> => {
  const q = selectDirectoryRuns(tx, tenant).where('directory_id', '=', directory)
  return (which === 'any' ? q : q.where('status', 'in', statuses[which]))
    .orderBy('started_at', 'desc')
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** True for the one call that marked it. */
export const markUndone = async (tx: Tx, tenant: TenantId, id: string, at: Date): Promise<boolean> => {
  const row = await tx
    .updateTable('directory_runs')
    .set({ undone_at: at })
    .where('tenant_id', '=', tenant)
    .where('run_id', '=', id)
    .where('status', '=', 'applied')
    .where('undone_at', 'is', null)
    .returning('run_id')
    .executeTakeFirst()
  return row !== undefined
}

export const insertContent = (tx: Tx, tenant: TenantId, run: string, content: string) =>
  tx.insertInto('directory_run_contents').values({ tenant_id: tenant, run_id: run, content }).execute()

export const findContent = async (tx: Tx, tenant: TenantId, run: string): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('directory_run_contents')
    .select('content')
    .where('tenant_id', '=', tenant)
    .where('run_id', '=', run)
    .executeTakeFirst()
  return row?.content
}

export const deleteContent = (tx: Tx, tenant: TenantId, run: string) =>
  tx.deleteFrom('directory_run_contents').where('tenant_id', '=', tenant).where('run_id', '=', run).execute()

/**
 * Purges runs with their content. A held run stays until it is confirmed or cancelled. All runs stay while a legal hold
 * covers the whole tenant.
 */
export const pruneDirectoryRuns = deleting(
  'directory_runs',
  sql`started_at < ${purgeTime} - interval '400 days' and status <> 'held' and ${isNotAllHeld}`,
)
