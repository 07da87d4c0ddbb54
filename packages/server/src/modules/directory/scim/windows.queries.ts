import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { DirectoryRunRow } from '../runs.queries.ts'

type Window = Omit<Selectable<Tables['directory_windows']>, 'tenant_id' | 'directory_id'>

export const findRemovalWindow = (
  tx: Tx,
  tenant: TenantId,
  directory: string,
  group: string,
): Promise<Window | undefined> =>
  tx
    .selectFrom('directory_windows')
    .select(['group_id', 'since', 'had', 'removed', 'held_run_id', 'free_until'])
    .where('tenant_id', '=', tenant)
    .where('directory_id', '=', directory)
    .where('group_id', '=', group)
    .executeTakeFirst()

/** The caller holds the directory lock. */
export const putWindow = (tx: Tx, tenant: TenantId, directory: string, { group_id, ...window }: Window) =>
  tx
    .insertInto('directory_windows')
    .values({ tenant_id: tenant, directory_id: directory, group_id, ...window })
    .onConflict((c) => c.columns(['tenant_id', 'directory_id', 'group_id']).doUpdateSet(window))
    .execute()

/**
 * Removals and additions of users in a window, for the directory or for a group. The caller holds the directory lock.
 */
type Moved = { tenant: TenantId; directory: string; group: string }

/** Number of removed users who were there when the window began. */
export const countGone = async (tx: Tx, { tenant, directory, group }: Moved): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from directory_window_moves
    where tenant_id = ${tenant} and directory_id = ${directory} and group_id = ${group} and not came`.execute(tx)
  return rows[0]?.n ?? 0
}

/** Those of these users who were added within the window. */
export const cameAmong = async (tx: Tx, { tenant, directory, group }: Moved, users: readonly string[]) => {
  const { rows } = await sql<{ user_id: string }>`
    select user_id from directory_window_moves
    where tenant_id = ${tenant} and directory_id = ${directory} and group_id = ${group}
      and user_id = any(${users}::uuid[]) and came`.execute(tx)
  return new Set(rows.map((r) => r.user_id))
}

/** Deletes the moves of these users in one direction, or all moves. Returns the users. */
export const forgetMoves = async (
  tx: Tx,
  { tenant, directory, group }: Moved,
  which: { came: boolean; users: readonly string[] } | 'all',
): Promise<Set<string>> => {
  const some = which === 'all' ? sql`true` : sql`came = ${which.came} and user_id = any(${which.users}::uuid[])`
  const { rows } = await sql<{ user_id: string }>`
    with locked as (
      select user_id from directory_window_moves
      where tenant_id = ${tenant} and directory_id = ${directory} and group_id = ${group} and ${some}
      order by user_id for update)
    delete from directory_window_moves m using locked l
    where m.tenant_id = ${tenant} and m.directory_id = ${directory} and m.group_id = ${group} and m.user_id = l.user_id
    returning m.user_id`.execute(tx)
  return new Set(rows.map((r) => r.user_id))
}

export const noteMoves = (
  tx: Tx,
  { tenant, directory, group }: Moved,
  { came, users }: { came: boolean; users: readonly string[] },
) =>
  sql`
    insert into directory_window_moves (tenant_id, directory_id, group_id, user_id, came)
    select ${tenant}::uuid, ${directory}::uuid, ${group}::uuid, w.user_id, ${came}::boolean from unnest(${users}::uuid[]) as w (user_id)
    order by w.user_id on conflict do nothing`.execute(tx)

/** Releases the windows that a run holds; until `until` nothing is counted. The caller holds the directory lock. */
export const freeWindow = (tx: Tx, tenant: TenantId, directory: string, run: string, until: Date | null) =>
  sql`
    with locked as (
      select group_id from directory_windows
      where tenant_id = ${tenant} and directory_id = ${directory} and held_run_id = ${run}
      order by group_id for no key update)
    update directory_windows w set held_run_id = null, free_until = ${until} from locked
    where w.tenant_id = ${tenant} and w.directory_id = ${directory} and w.group_id = locked.group_id`.execute(tx)

type Refused = { change: string; external_id: string; name: string; detail: string | null }
const mostNoted = 100
/** Adds a refused change to the run held for it, once. The caller holds the directory lock. */
export const noteRefused = (tx: Tx, tenant: TenantId, run: string, { detail, ...what }: Refused) =>
  sql`
    update directory_runs set diff = diff || ${JSON.stringify([{ ...what, detail }])}::jsonb
    where tenant_id = ${tenant} and run_id = ${run} and jsonb_array_length(diff) < ${mostNoted}
      and not diff @> ${JSON.stringify([what])}::jsonb`.execute(tx)

type Open = Pick<DirectoryRunRow, 'run_id' | 'counts'>
/** The run of the current hour, which collects provisioned changes. */
export const openRun = async (tx: Tx, tenant: TenantId, directory: string, since: Date): Promise<Open | undefined> => {
  const { rows } = await sql<Open>`
    select run_id, counts from directory_runs
    where tenant_id = ${tenant} and directory_id = ${directory} and source = 'scim' and started_at > ${since}
      and status = 'applied' and held_because = '[]'::jsonb
    order by started_at desc, run_id desc limit 1`.execute(tx)
  return rows[0]
}

export const setRunCounts = (tx: Tx, tenant: TenantId, run: string, counts: object, at: Date) =>
  tx
    .updateTable('directory_runs')
    .set({ counts: JSON.stringify(counts), finished_at: at })
    .where('tenant_id', '=', tenant)
    .where('run_id', '=', run)
    .execute()
