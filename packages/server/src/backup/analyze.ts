import { withConnection } from '../db/connection.ts'
import type { ReportProgress } from './dump.ts'
import { quoted, sessionSettings, tableNames } from './schema.ts'

/**
 * Runs ANALYZE on each table, so that the planner has statistics for the first queries of a fleet. Loaded rows have no
 * statistics, and autovacuum never analyzes a partitioned table. Each table is analyzed in its own transaction.
 */
export async function analyze(
  url: string,
  { note, progress }: { note: (sentence: string) => void; progress: ReportProgress },
): Promise<void> {
  await withConnection(url, async (connection) => {
    await connection.query(sessionSettings)
    const tables = await tableNames(connection)
    note(`All rows are restored. Analyzing ${tables.length} tables, so that the query planner knows their contents.`)
    for (const name of tables) {
      progress(`${name} is analyzed`)
      await connection.query(`analyze ${quoted(connection, [name])}`)
    }
  })
}
