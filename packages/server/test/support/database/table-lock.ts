import pg from 'pg'
import type { Kit } from '../deployment/deployment.ts'
import { until } from '../deployment/wait-until.ts'

/**
 * Locks a table against writes until it is released. Writers wait, and then all continue at once.
 *
 * @param mode `access exclusive` holds readers too
 */
export async function holdTable(kit: Kit, table: string, mode: 'share' | 'access exclusive' = 'share') {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  // A failed test may end before the table is released.
  client.on('error', () => {})
  await client.connect()
  await client.query(`begin; lock table ${client.escapeIdentifier(table)} in ${mode} mode`)
  const waiting = async () => {
    const { rows } = await client.query(
      `select from pg_locks l join pg_database d on d.oid = l.database
       where d.datname = current_database() and l.relation = $1::regclass and not l.granted`,
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
