import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { generateHybridIdentity, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { type Config, ConfigError, parseConfig } from '../config/config.ts'
import { bucketCredential, readMasterKeys } from '../config/secrets.ts'
import { withConnection } from '../db/connection.ts'
import { bringForward, MigrationError, whileNobodyMigrates } from '../db/migrate.ts'
import { EmbeddedPostgresError, findEmbeddedPostgres, startEmbeddedPostgres } from '../embedded/postgres.ts'
import { createPackageStore } from '../modules/updates/index.ts'
import { type Written, writeArchive } from './archive.ts'
import { BackupError, explained } from './backup-error.ts'
import { dump, type ReportProgress } from './dump.ts'
import { fence } from './fence.ts'
import { load } from './load.ts'
import type { Content, Head } from './manifest.ts'
import { missingPackages } from './packages.ts'
import { readBackup } from './read.ts'
import { quoted, sessionSettings, tableNames } from './schema.ts'

type Env = Record<string, string | undefined>
export type Told = { progress: ReportProgress; note: (sentence: string) => void }
type BackedUp = { head: Head; written: Written }
type Restored = { head: Head; tenants: number; missing: string[] }

/** True if the error's message is a sentence for the operator. */
export const isForOperator = (e: unknown): boolean =>
  [BackupError, ConfigError, EmbeddedPostgresError, MigrationError].some((kind) => e instanceof kind)

/** Generates an identity of age and its recipient. */
export async function makeIdentity({ isPostQuantum }: { isPostQuantum: boolean }) {
  const identity = await (isPostQuantum ? generateHybridIdentity() : generateX25519Identity())
  return { identity, recipient: await identityToRecipient(identity) }
}

const logTo = ({ note }: Told) => ({ info: () => {}, warn: note })

/**
 * Writes a backup of the server's database, running or not, into a new file. The file appears complete or not at all.
 */
export async function backUp(env: Env, file: string, recipients: readonly string[], reporter: Told): Promise<BackedUp> {
  const config = parseConfig(env)
  const [key] = readMasterKeys(config.masterKeyFile)
  return withDatabase(config, { log: logTo(reporter), mayMake: false }, (url) =>
    withConnection(url, async (connection) => {
      let head: Head | undefined
      const entries = dump(connection, { key, head: (found) => (head = found), progress: reporter.progress })
      const written = await intoNewFile(file, (handle) => writeArchive(handle, recipients, entries))
      return { head: head!, written }
    }),
  ).catch((e: unknown) => Promise.reject(explained(e, 'The backup was not created')))
}

/** Reads all of a backup and returns its contents. */
export async function verify(
  env: Env,
  file: string,
  identities: readonly string[],
): Promise<{ head: Head; tables: Content[] }> {
  const keys = readMasterKeys(parseConfig(env).masterKeyFile)
  return readBackup({ file, identities, keys })
}

/**
 * Loads a backup into the server's database, which must be empty, and then looks for the release packages beside it.
 */
export async function restore(
  env: Env,
  file: string,
  identities: readonly string[],
  reporter: Told,
): Promise<Restored> {
  const config = parseConfig(env)
  const keys = readMasterKeys(config.masterKeyFile)
  const store = createPackageStore(config.packages, bucketCredential(env, config))
  return withDatabase(config, { log: logTo(reporter), mayMake: true }, async (url) => {
    const loaded = await load(url, { file, identities, keys }, reporter.progress).catch((e: unknown) =>
      Promise.reject(explained(e, 'Nothing was restored')),
    )
    await analyze(url, reporter).catch((e: unknown) =>
      reporter.note(
        `The database was restored, but ANALYZE failed (${(e as Error).message}): run ANALYZE in the database.`,
      ),
    )
    const missing = await missingPackages(url, store).catch((e: unknown) =>
      Promise.reject(explained(e, 'The database was restored, but its release packages were not checked')),
    )
    return { ...loaded, missing }
  })
}

/**
 * For a database that was restored by other means: migrates it to this version, and advances every tenant's sequence
 * numbers past any that may have been issued. Both happen in one transaction.
 */
export async function fenceDatabase(env: Env, reporter: Told): Promise<{ tenants: number }> {
  const config = parseConfig(env)
  return withDatabase(config, { log: logTo(reporter), mayMake: false }, (url) =>
    whileNobodyMigrates(url, async (connection) => {
      if (!(await tableNames(connection)).includes('tenants'))
        throw new BackupError('The database has no deployment, so there is nothing to fence: check DATABASE_URL.')
      await connection.query(sessionSettings)
      await connection.query('begin')
      await bringForward(connection, { ownTransactions: false })
      const tenants = await fence(connection, { job: 'fence' })
      await connection.query('commit')
      return { tenants }
    }),
  ).catch((e: unknown) => Promise.reject(explained(e, 'Nothing was changed')))
}

/** Writes under a temporary name until the file is complete and on disk. Never overwrites an existing file. */
async function intoNewFile<T>(
  file: string,
  write: (handle: Awaited<ReturnType<typeof open>>) => Promise<T>,
): Promise<T> {
  const taken = new BackupError(`${file} already exists and is not overwritten: choose another file name.`)
  if (await stat(file).catch(() => undefined)) throw taken
  const unfinished = `${file}.${randomUUID().slice(0, 8)}.partial`
  try {
    const handle = await open(unfinished, 'wx', 0o600)
    const made = await write(handle).finally(() => handle.close())
    await link(unfinished, file).catch((e: NodeJS.ErrnoException) => {
      if (e.code === 'EEXIST') throw taken
      // For a file system without hard links.
      return rename(unfinished, file)
    })
    const folder = await open(dirname(file), 'r')
    await folder.sync().finally(() => folder.close())
    return made
  } finally {
    await rm(unfinished, { force: true })
  }
}

/**
 * Runs ANALYZE on each table, so that the planner has statistics for the first queries of a fleet. Loaded rows have no
 * statistics, and autovacuum never analyzes a partitioned table. Each table is analyzed in its own transaction.
 */
async function analyze(
  url: string,
  { note, progress }: { note: (sentence: string) => void; progress: ReportProgress },
): Promise<void> {
  await withConnection(url, async (connection) => {
    await connection.query(sessionSettings)
    const tables = await tableNames(connection)
    note(`All rows are restored. Running ANALYZE on ${tables.length} tables, for the query planner.`)
    for (const name of tables) {
      progress(`${name} is analyzed`)
      await connection.query(`analyze ${quoted(connection, [name])}`)
    }
  })
}

type Log = Parameters<typeof startEmbeddedPostgres>[0]['log']

/**
 * Runs `work` on the database of the server: that of `DATABASE_URL`, the embedded one of a running server, or else the
 * embedded one, started for this work.
 */
async function withDatabase<T>(
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
