import { sql } from 'kysely'
import { background, type Database, type Tx } from './database.ts'

/** Creates the partitions of the months around `at`. */
export const ensurePartitions = (db: Database, at: Date) =>
  db.acrossTenants((tx) => sql`call ensure_partitions(${at})`.execute(tx), background)

const dropIn = (table: string) => (tx: Tx) => sql<{ n: number }>`select drop_partitions(${table}) as n`.execute(tx)
const dropPurged = (tx: Tx) => sql<{ n: number }>`select drop_purged_months() as n`.execute(tx)

/**
 * Drops months that are expired for every tenant and have no legal hold, and months of the audit log that purges have
 * emptied. Each drop has its own transaction, since it locks the table. A table that another transaction locks for long
 * does not stop the others; its error is thrown at the end.
 */
export const dropPartitions = async (db: Database): Promise<number> => {
  let dropped = 0
  const failures: unknown[] = []
  const dropAll = async (drop: typeof dropPurged): Promise<void> => {
    for (;;) {
      const { rows } = await db.acrossTenants(drop, background)
      if (!rows[0]?.n) return
      dropped += rows[0].n
    }
  }
  for (const drop of [...['vpn_sessions', 'telemetry_events', 'metering_reports'].map(dropIn), dropPurged])
    await dropAll(drop).catch((e: unknown) => failures.push(e))
  if (failures.length > 0) throw failures[0]
  return dropped
}
