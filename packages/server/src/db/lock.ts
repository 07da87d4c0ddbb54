import { connectOnce } from './connection.ts'

/** Runs `work` while no other replica runs work under the same number. */
export async function withDatabaseLock<T>(url: string, number: number, work: () => Promise<T>): Promise<T> {
  const connection = await connectOnce(url)
  try {
    await connection.query('select pg_advisory_lock($1)', [number])
    return await work()
  } finally {
    await connection.end()
  }
}
