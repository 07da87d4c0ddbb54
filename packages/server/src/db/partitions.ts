import { sql } from 'kysely'
import { background, type Database } from './database.ts'

/** Kept for so many days; a month goes when all of it is older. */
type KeptDays = { vpn_sessions: number; telemetry_events: number; metering_reports: number }

/** The months around `at` have their partitions. */
export const ensurePartitions = (db: Database, at: Date) =>
  db.acrossTenants((tx) => sql`call ensure_partitions(${at})`.execute(tx), background)

/**
 * Drops the months that were over long enough ago for every tenant, and in which nothing is held, and of the record those
 * of which purges left nothing: each table in a transaction of its own, since it is locked
 * meanwhile.
 */
export const dropPartitions = async (db: Database, kept: KeptDays): Promise<number> => {
  let dropped = 0
  const { vpn_sessions, telemetry_events, metering_reports } = kept
  for (const [table, days] of Object.entries({ vpn_sessions, telemetry_events, metering_reports })) {
    const { rows } = await db.acrossTenants(
      (tx) => sql<{ n: number }>`select drop_partitions(${table}, ${days}) as n`.execute(tx),
      background,
    )
    dropped += rows[0]?.n ?? 0
  }
  const { rows } = await db.acrossTenants(
    (tx) => sql<{ n: number }>`select drop_purged_months() as n`.execute(tx),
    background,
  )
  return dropped + (rows[0]?.n ?? 0)
}
