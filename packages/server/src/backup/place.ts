import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { findEmbeddedPostgres, startEmbeddedPostgres } from '../embedded/postgres.ts'
import { BackupError } from './backup-error.ts'

type Log = Parameters<typeof startEmbeddedPostgres>[0]['log']

/**
 * Runs `work` on the database of the server: that of `DATABASE_URL`, the embedded one of a running server, or else the
 * embedded one, started for this work.
 */
export async function withDatabase<T>(
  { databaseUrl, dataDir }: Config,
  { log, mayMake }: { log: Log; mayMake: boolean },
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (databaseUrl) return work(databaseUrl)
  const running = await findEmbeddedPostgres(dataDir, log)
  if (running) return work(running)
  const isThere = ['postgres', 'postgres-location'].some((name) => existsSync(join(dataDir, name)))
  if (!isThere && !mayMake)
    throw new BackupError(
      `There is no database in ${dataDir}: set HOLDFAST_DATA_DIR or DATABASE_URL as for the server.`,
    )
  const embedded = await startEmbeddedPostgres({ dataDir, log })
  try {
    return await work(embedded.connectionString)
  } finally {
    await embedded.stop()
  }
}
