import { sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { type BatchSizing, type Leased, leasedUntil, type StreamRow, went, whereLeased } from './streams.queries.ts'

/** Returns the number of dead letters of the connector. */
export async function deadOf(tx: Tx, { tenant_id, connector_id }: Pick<StreamRow, 'tenant_id' | 'connector_id'>) {
  const found = await tx
    .selectFrom('siem_streams')
    .select('dead')
    .where('tenant_id', '=', tenant_id)
    .where('stream_id', '=', connector_id)
    .executeTakeFirst()
  return found?.dead ?? 0
}

/**
 * Updates the number of dead letters of the connector and returns it. For an export it also adds to the number that it
 * caused.
 */
export async function countDead(
  tx: Tx,
  leased: Leased,
  { refused, change }: { refused: number; change: number },
): Promise<number> {
  const { tenant_id, connector_id, from_at } = leased
  if (from_at !== null)
    await whereLeased(tx, leased)
      .set((e) => ({ dead: e('dead', '+', refused) }))
      .execute()
  const connector = await tx
    .updateTable('siem_streams')
    .set({ dead: sql<number>`greatest(0, dead + ${change})` })
    .where('tenant_id', '=', tenant_id)
    .where('stream_id', '=', connector_id)
    .returning('dead')
    .executeTakeFirst()
  return connector?.dead ?? 0
}
/** Result of a replay: `deleted` dead letters were delivered (`taken`), or their events no longer exist. */
type Replayed = { deleted: number; taken: number; lost: number; isWell: boolean }
export const countReplayed = (tx: Tx, leased: Leased, { deleted, taken, lost, isWell }: Replayed, pace: BatchSizing) =>
  affectedRow(
    whereLeased(tx, leased)
      .set((e) => ({
        ...went(pace),
        dead: sql<number>`greatest(0, dead - ${deleted})`,
        delivered: e('delivered', '+', taken),
        lost: e('lost', '+', lost),
        ...(isWell && { replay_failures: 0, failures: 0, failing_since: null, problem: null }),
      }))
      .returning('stream_id'),
  )
/** Releases the stream for new events. The replay waits. */
export const postponeReplay = (tx: Tx, leased: Leased, waitMs: number, pace: BatchSizing) =>
  whereLeased(tx, leased)
    .set((e) => ({
      ...went(pace),
      lease: null,
      leased_until: null,
      due_at: sql<Date>`clock_timestamp()`,
      replay_failures: e('replay_failures', '+', 1),
      replay_due_at: sql<Date>`clock_timestamp() + ${waitMs} * interval '1 millisecond'`,
    }))
    .execute()
export const endReplay = (tx: Tx, leased: Leased): Promise<boolean> =>
  affectedRow(whereLeased(tx, leased).set({ replays: false, leased_until: leasedUntil }).returning('stream_id'))
