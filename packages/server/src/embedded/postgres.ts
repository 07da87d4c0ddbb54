import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import { findBinaries } from './binaries.ts'
import {
  type ClusterSettings,
  DURABLE_SETTINGS,
  ensureCluster,
  ROLE,
  serverArguments,
  THROWAWAY_SETTINGS,
} from './cluster.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import {
  type ClusterLog,
  closeSocketDirectory,
  type Home,
  openHome,
  openSocketDirectory,
  SOCKET_NAME,
  sharedDirectory,
} from './home.ts'
import { takeLock } from './lock.ts'
import { awaitOldPostmaster } from './postmaster.ts'
import { launchServer, type Server, toStartError } from './supervisor.ts'

export { EmbeddedPostgresError }

/** Time in ms to wait for a previous owner of the data directory that is just ending. */
const LOCK_WAIT_MS = 5_000
/** Time in ms to wait for leftover processes of a killed PostgreSQL to release the cluster. */
const LEFTOVER_MS = 20_000
/** Limit of a start in ms. Crash recovery replays at most `max_wal_size`. */
const READY_TIMEOUT_MS = 180_000
/** Time in ms for restarts after PostgreSQL ends by itself (killed, disk full). */
const REVIVE_FOR_MS = 120_000

interface EmbeddedPostgres {
  /** Unix socket, superuser `holdfast`, database `holdfast`. Does not change when PostgreSQL is restarted. */
  connectionString: string
  /** Fast shutdown. Settles when every process has ended and the data directory is free. */
  stop(): Promise<void>
  /** Settles once: after `stop()`, or if PostgreSQL ended by itself and could not be restarted within 2 minutes. */
  exited: Promise<{ expected: boolean; reason: string }>
}

/**
 * Starts the bundled PostgreSQL 18 on `dataDir`, and creates both at the first start.
 *
 * One Holdfast process at a time: a kernel lock refuses the second one. PostgreSQL ends with this process in every
 * case, and the next start recovers from a `kill -9` of all processes. Root runs it as another account (see
 * `chooseAccount`), and stores it outside `dataDir` if that account cannot reach it (see `openHome`).
 *
 * @throws EmbeddedPostgresError with one sentence for the operator
 */
export async function startEmbeddedPostgres(options: { dataDir: string; log: ClusterLog }): Promise<EmbeddedPostgres> {
  const { dataDir, log } = options
  requirePosix()
  const home = asSentence(dataDir, () => openHome(dataDir, log))
  const lock = await takeLock(home.path, home.owner, LOCK_WAIT_MS)
  if ('ownerPid' in lock) {
    const pid = lock.ownerPid === null ? '' : ` (pid ${lock.ownerPid})`
    throw new EmbeddedPostgresError(
      `The data directory ${dataDir} (HOLDFAST_DATA_DIR) is in use by another Holdfast process${pid}.`,
    )
  }
  try {
    const start = prepareServer(home, log, DURABLE_SETTINGS, '')
    const first = await start()
    await ensureDatabase(connectionString(home, 'postgres'))
    const keptAlive = keepAlive(first, start, log)
    const exited = keptAlive.exited.finally(() => {
      closeSocketDirectory(home, openSocketDirectory(home))
      lock.release()
    })
    return {
      connectionString: connectionString(home, 'holdfast'),
      exited,
      async stop() {
        await keptAlive.stop()
        await exited
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Returns the URL of the PostgreSQL that another Holdfast process runs on `dataDir`; undefined if there is none. */
export async function findEmbeddedPostgres(dataDir: string, log: ClusterLog): Promise<string | undefined> {
  if (!existsSync(join(dataDir, 'postgres')) && !existsSync(join(dataDir, 'postgres-location'))) return undefined
  const url = connectionString(openHome(dataDir, log), 'holdfast')
  return (await answers(url)) ? url : undefined
}

/** Starts a throw-away cluster in the empty directory `home`, which is removed at its end. */
export async function startThrowawayPostgres(
  home: Home,
  log: ClusterLog,
): Promise<{ url: string; stop(): Promise<void> }> {
  requirePosix()
  const server = await prepareServer(home, log, THROWAWAY_SETTINGS, home.path)()
  return { url: connectionString(home, 'postgres'), stop: () => server.stop() }
}

/** Creates the cluster if needed. Returns a function that starts a server on it and may be called repeatedly. */
function prepareServer(
  home: Home,
  log: ClusterLog,
  settings: ClusterSettings,
  removeAtEnd: string,
): () => Promise<Server> {
  return asSentence(home.path, () => {
    const binaries = findBinaries(home.account, () => (home.account ? sharedDirectory(log) : home.path))
    const cluster = ensureCluster(home, binaries, settings.fsync === 'on')
    const socketDirectory = openSocketDirectory(home)
    const command = [join(binaries, 'bin', 'postgres'), ...serverArguments(cluster, socketDirectory, settings)]
    return async () => {
      const giveUp = performance.now() + LEFTOVER_MS
      for (;;) {
        await awaitOldPostmaster(home.account, cluster)
        rmSync(join(socketDirectory, `${SOCKET_NAME}.lock`), { force: true })
        const server = launchServer(home, cluster, command, removeAtEnd)
        const failure = await untilReady(server, connectionString(home, 'postgres'))
        if (failure === null) return server
        await server.stop()
        if (!/still in use|already exists/.test(failure) || performance.now() > giveUp)
          throw toStartError(home, failure)
        await sleep(250)
      }
    }
  })
}

/** Returns null when the server answers, otherwise the reason of its end. */
async function untilReady(server: Server, url: string): Promise<string | null> {
  const giveUp = performance.now() + READY_TIMEOUT_MS
  while (performance.now() < giveUp) {
    if (server.hasEnded()) return server.ended
    if (await answers(url)) return null
    await sleep(15)
  }
  return `it was not ready after ${READY_TIMEOUT_MS / 1000} s`
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    const found = await client.query(`select from pg_database where datname = 'holdfast'`)
    if (found.rowCount === 0) await client.query('create database holdfast')
  } catch (error) {
    if (error instanceof DatabaseError) throw new EmbeddedPostgresError(`The database is unusable: ${error.message}.`)
    throw error
  } finally {
    await client.end().catch(() => {})
  }
}

/** Restarts PostgreSQL when it ends by itself, until `stop`. */
function keepAlive(
  first: Server,
  start: () => Promise<Server>,
  log: ClusterLog,
): Pick<EmbeddedPostgres, 'exited' | 'stop'> {
  let stopping = false
  let server = first
  const live = async () => {
    for (;;) {
      const reason = await server.ended
      if (stopping) return { expected: true, reason: 'stopped' }
      log.warn(`PostgreSQL stopped unexpectedly (${reason}); restarting it.`)
      const giveUp = performance.now() + REVIVE_FOR_MS
      for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
        const failure = await start().then(
          (next) => {
            server = next
            return null
          },
          (error: unknown) => (error instanceof Error ? error.message : String(error)),
        )
        if (failure === null) break
        if (stopping) return { expected: true, reason: 'stopped' }
        if (performance.now() > giveUp) return { expected: false, reason: failure }
        await sleep(wait, undefined, { ref: false })
      }
      if (stopping) await server.stop()
      else log.info('PostgreSQL is running again.')
    }
  }
  const exited = live()
  return {
    exited,
    async stop() {
      stopping = true
      await server.stop()
    },
  }
}

/**
 * `localhost` is a placeholder that every URL parser accepts. The `host` parameter, the socket's directory, overrides
 * it.
 */
function connectionString(home: Home, database: string): string {
  const host = encodeURIComponent(openSocketDirectory(home))
  return `postgresql://${ROLE}@localhost:5432/${database}?host=${host}`
}

function requirePosix(): void {
  if (process.platform === 'win32') {
    throw new EmbeddedPostgresError(
      'The embedded PostgreSQL is not available on Windows: set DATABASE_URL to a PostgreSQL 15 or later.',
    )
  }
}

/** Turns a file system error (permission, space, read-only) into a sentence. */
function asSentence<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof EmbeddedPostgresError || !(error instanceof Error && 'code' in error)) throw error
    throw new EmbeddedPostgresError(`The data directory ${path} (HOLDFAST_DATA_DIR) cannot be used: ${error.message}.`)
  }
}
