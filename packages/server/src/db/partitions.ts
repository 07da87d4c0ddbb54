import { sql } from 'kysely'
import { background, type Database } from './database.ts'

/** Kept for so many days; a month goes when all of it is older. */
type KeptDays = { vpn_sessions: number; telemetry_events: number; metering_reports: number }

/** The months around `at` have their partitions. */
export const ensurePartitions = (db: Database, at: Date) =>
  db.acrossTenants((tx) => sql`call ensure_partitions(${at})`.execute(tx), background)

/**
 * Drops the months that were over long enough ago: each table in a transaction of its own, since it is locked
 * meanwhile.
 */
export const dropPartitions = async (db: Database, kept: KeptDays): Promise<number> => {
  let dropped = 0
  for (const [table, days] of Object.entries(kept)) {
    const { rows } = await db.acrossTenants(
      (tx) => sql<{ n: number }>`select drop_partitions(${table}, ${days}) as n`.execute(tx),
      background,
    )
    dropped += rows[0]?.n ?? 0
  }
  return dropped
}
