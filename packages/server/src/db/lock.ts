import { setTimeout as delay } from 'node:timers/promises'
import { type Connection, withConnection } from './connection.ts'

const askAgainMs = 100

/**
 * Runs `work` while no other replica runs work under the same number. The lock belongs to the connection and ends with
 * it.
 */
export const withDatabaseLock = <T>(
  url: string,
  number: number,
  work: (connection: Connection) => Promise<T>,
): Promise<T> =>
  withConnection(url, async (connection) => {
    // Polls for the lock: a blocked statement can't tell a held lock from a lost network.
    while (!(await isMine(connection, number))) await delay(askAgainMs)
    return work(connection)
  })

async function isMine(connection: Connection, number: number): Promise<boolean> {
  const [row] = await connection.ask<{ acquired: boolean }>('select pg_try_advisory_lock($1) as acquired', [number])
  return row?.acquired === true
}
