import { sql } from 'kysely'
import { background, type Database } from './database.ts'

/** The months around `at` have their partitions. */
export const ensurePartitions = (db: Database, at: Date) =>
  db.acrossTenants((tx) => sql`call ensure_partitions(${at})`.execute(tx), background)
