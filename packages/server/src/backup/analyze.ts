import { withConnection } from '../db/connection.ts'
import type { Progress } from './dump.ts'
import { quoted, sessionSettings, tableNames } from './schema.ts'

/**
 * Lets PostgreSQL count what is in each table, so that it plans the first queries of a fleet by that: rows that were
 * loaded have no statistics, and a table in partitions gets none from autovacuum at all. Each in its own transaction.
 */
export async function analyze(
  url: string,
  { note, progress }: { note: (sentence: string) => void; progress: Progress },
): Promise<void> {
  await withConnection(url, async (connection) => {
    await connection.query(sessionSettings)
    const tables = await tableNames(connection)
    note(`All rows are in. ${tables.length} tables are analyzed, so that queries are planned by what is in them.`)
    for (const name of tables) {
      progress(`${name} is analyzed`)
      await connection.query(`analyze ${quoted(connection, [name])}`)
    }
  })
}
