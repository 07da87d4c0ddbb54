import pg from 'pg'
import type { Kit } from './kit.ts'
import { until } from './promptly.ts'

/** A table that nobody stores in until it is let go: whoever would waits, and all go on at once. */
export async function holdTable(kit: Kit, table: string) {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  // A test that failed ends before its table is let go.
  client.on('error', () => {})
  await client.connect()
  await client.query(`begin; lock table ${client.escapeIdentifier(table)} in share mode`)
  const waiting = async () => {
    const { rows } = await client.query(
      `select from pg_locks l join pg_stat_activity a using (pid)
       where a.datname = current_database() and l.relation = $1::regclass and not l.granted`,
      [table],
    )
    return rows.length
  }
  return {
    waits: (count: number) => until(async () => (await waiting()) === count, `${count} to wait for ${table}`),
    letGo: async () => {
      await client.query('commit')
      await client.end()
    },
  }
}
