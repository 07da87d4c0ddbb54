import pg from 'pg'

/** Runs `work` while no other replica runs work under the same number. */
export async function withDatabaseLock<T>(url: string, number: number, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [number])
    return await work()
  } finally {
    await client.end()
  }
}
