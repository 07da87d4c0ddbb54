import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { leaseOf } from '../../../db/lease.ts'
import type { DirectoryRequester, PullProgress } from '../../../db/tables/directory.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { minute } from '../../../kernel/time.ts'
import type { NewRun } from '../runs.queries.ts'

type Pull = Selectable<Tables['directory_pulls']>
export type PullId = Pick<Pull, 'tenant_id' | 'source_id'>
/** A pull that this replica reads. */
export type LeasedPull = Pull & { claimed_by: string }

/** Longer than a request with its retries, so a reader whose lease has run out has ended. */
export const pullLeaseMs = 2 * minute
const { take, held, renew, renewed, release } = leaseOf('directory_pulls', {
  key: ['tenant_id', 'source_id'],
  holder: 'claimed_by',
  until: 'claimed_until',
  ms: pullLeaseMs,
  open: {},
})
export const renewPull = renew
export const releasePull = release

export const findPull = (tx: Tx, tenant: TenantId, source: string): Promise<Pull | undefined> =>
  tx
    .selectFrom('directory_pulls')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('source_id', '=', source)
    .executeTakeFirst()

type Begun = {
  run_id: string
  source_id: string
  directory_id: string
  provider: string
  snapshot_id: string
  at: Date
  progress: PullProgress
  dry_run: boolean
  confirmed: boolean
  requested_by: DirectoryRequester | null
  cursor: object
  /** Number of pages of earlier readings that this one continues. */
  pages: number
}
/** The caller holds the lock of the source, which has no pull. */
export async function insertPull(tx: Tx, tenant: TenantId, counts: object, p: Begun): Promise<void> {
  await tx
    .insertInto('directory_runs')
    .values({
      tenant_id: tenant,
      run_id: p.run_id,
      directory_id: p.dry_run ? null : p.directory_id,
      source_id: p.source_id,
      provider: p.provider,
      snapshot_id: p.snapshot_id,
      generated_at: p.at,
      started_at: p.at,
      status: 'fetching',
      counts: JSON.stringify(counts),
      held_because: '[]',
      diff: '[]',
      problems: '[]',
      progress: JSON.stringify(p.progress),
    })
    .execute()
  await tx
    .insertInto('directory_pulls')
    .values({
      tenant_id: tenant,
      source_id: p.source_id,
      run_id: p.run_id,
      dry_run: p.dry_run,
      confirmed: p.confirmed,
      requested_by: p.requested_by && JSON.stringify(p.requested_by),
      cursor: JSON.stringify(p.cursor),
      pages: p.pages,
      claimed_until: p.at,
    })
    .execute()
}

/** Only one replica gets the pull. */
export const takePull = (tx: Tx, id: PullId, at: Date): Promise<LeasedPull | undefined> =>
  take(tx, id, at).returningAll().$narrowType<{ claimed_by: string }>().executeTakeFirst()

/** False if the pull has ended or another replica has it. */
export const savePull = (
  tx: Tx,
  pull: LeasedPull,
  { cursor, pages, at }: { cursor: object; pages: number; at: Date },
): Promise<boolean> =>
  affectedRow(
    held(tx, pull)
      .set({ cursor: JSON.stringify(cursor), pages, ...renewed(at) })
      .returning('run_id'),
  )

export const saveProgress = (tx: Tx, tenant: TenantId, run: string, progress: PullProgress) =>
  tx
    .updateTable('directory_runs')
    .set({ progress: JSON.stringify(progress) })
    .where('tenant_id', '=', tenant)
    .where('run_id', '=', run)
    .where('status', '=', 'fetching')
    .execute()

type Ended = PullId & Pick<Pull, 'run_id'> & Partial<Pick<Pull, 'claimed_by'>>
/** Ends a pull; true for the one caller that did. With `claimed_by`, only the replica that reads it can. */
export const endPull = (tx: Tx, { tenant_id, source_id, run_id, claimed_by }: Ended) => {
  const q = tx
    .deleteFrom('directory_pulls')
    .where('tenant_id', '=', tenant_id)
    .where('source_id', '=', source_id)
    .where('run_id', '=', run_id)
  return affectedRow((claimed_by ? q.where('claimed_by', '=', claimed_by) : q).returning('run_id'))
}

/** Stores the result of a pull. */
export const settleRun = (
  tx: Tx,
  { tenant_id, run_id, counts, held_because, diff, problems, ...run }: NewRun,
  more: { progress: PullProgress; failure?: string },
): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('directory_runs')
      .set({
        ...run,
        counts: JSON.stringify(counts),
        held_because: JSON.stringify(held_because),
        diff: JSON.stringify(diff),
        problems: JSON.stringify(problems),
        progress: JSON.stringify(more.progress),
        failure: more.failure ?? null,
      })
      .where('tenant_id', '=', tenant_id)
      .where('run_id', '=', run_id)
      .where('status', '=', 'fetching')
      .returning('run_id'),
  )

export const endPulledRun = (
  tx: Tx,
  tenant: TenantId,
  run: string,
  { status, failure, at }: { status: 'failed' | 'cancelled'; failure: string; at: Date },
): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('directory_runs')
      .set({ status, failure, finished_at: at })
      .where('tenant_id', '=', tenant)
      .where('run_id', '=', run)
      .where('status', '=', 'fetching')
      .returning('run_id'),
  )

export const insertPage = (tx: Tx, tenant: TenantId, source_id: string, page: number, content: string) =>
  tx.insertInto('directory_pages').values({ tenant_id: tenant, source_id, page, content }).execute()

/** Pages from number `from` on, about 4 MB in total and at least one, if there is one. */
export const somePages = async (tx: Tx, tenant: TenantId, source: string, from: number) => {
  const { rows } = await sql<{ page: number; content: string }>`
    select page, content from (
      select page, content, sum(length(content)) over (order by page) - length(content) as before
      from (select page, content from directory_pages
        where tenant_id = ${tenant} and source_id = ${source} and page >= ${from} order by page limit 200) as next
    ) as summed where before < 4000000 order by page`.execute(tx)
  return rows
}

/** Bytes stored for a source, and for all sources of the tenant. */
export const bytesOfPages = async (tx: Tx, tenant: TenantId, source: string): Promise<{ own: number; all: number }> => {
  const { rows } = await sql<{ own: number; all: number }>`
    select coalesce(sum(octet_length(content)) filter (where source_id = ${source}), 0) as own,
      coalesce(sum(octet_length(content)), 0) as all
    from directory_pages where tenant_id = ${tenant}`.execute(tx)
  return rows[0] ?? { own: 0, all: 0 }
}

/** Deletes the pages from number `from` on. The caller holds the lock of the source or of its pull. */
export const deletePages = (tx: Tx, tenant: TenantId, source: string, from: number) =>
  tx
    .deleteFrom('directory_pages')
    .where('tenant_id', '=', tenant)
    .where('source_id', '=', source)
    .where('page', '>=', from)
    .execute()

/** Bypasses tenant isolation. Pulls without a reader, in the order of their expired leases. */
export const freePulls = async (tx: Tx, at: Date, limit: number) => {
  const { rows } = await sql<PullId>`
    select tenant_id, source_id from directory_pulls where claimed_until <= ${at}
    order by claimed_until limit ${limit}`.execute(tx)
  return rows
}
