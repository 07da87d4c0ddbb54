import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { accountOwning, chooseAccount, giveTo, type OsAccount } from '@holdfast/server/embedded/account'
import { findBinaries } from '@holdfast/server/embedded/binaries'
import { DURABLE_SETTINGS, ensureCluster, ROLE, serverArguments } from '@holdfast/server/embedded/cluster'
import { type Home, openSocketDirectory, sharedDirectory } from '@holdfast/server/embedded/home'
import { findPostmaster } from '@holdfast/server/embedded/postmaster'
import { launchServer, type Server } from '@holdfast/server/embedded/supervisor'
import pg from 'pg'
import { atEnd } from './at-end.ts'
import { freePort } from './ports.ts'

const run = promisify(execFile)
const readyWithinMs = 60_000
const silent = { info() {}, warn() {} }
const database = 'holdfast'

export type Postgres = Awaited<ReturnType<typeof createPostgres>>
/** A copy of a cluster's files at one time. */
export type Backup = { path: string; password: string; remove: () => void }

/**
 * A PostgreSQL of our own from the embedded binaries. It listens for TCP on loopback, with a password that only this
 * run knows. It starts empty, or from a backup: as a primary at the backup's time, or as a standby that follows another
 * server.
 */
export async function createPostgres(from?: { backup: Backup; follow?: Pick<Postgres, 'port'> }) {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-pg-'))
  chmodSync(path, 0o711)
  const account: OsAccount = chooseAccount(path)
  giveTo(account, path)
  const home: Home = { path, owner: accountOwning(path), account }
  const binaries = findBinaries(account, () => (account ? sharedDirectory(silent) : path))
  const password = from?.backup.password ?? randomBytes(18).toString('base64url')
  const cluster = join(path, 'cluster')
  const removeFiles = () => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  const forget = atEnd(() => {
    endAllOf(cluster)
    removeFiles()
  })
  const port = await freePort()
  if (from) {
    await run('cp', ['-a', from.backup.path, cluster])
    if (from.follow) write('standby.signal', '')
  } else {
    ensureCluster(home, binaries, true)
    const rules = ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256', '']
    appendFileSync(join(cluster, 'pg_hba.conf'), rules.join('\n'))
  }
  function write(file: string, text: string): void {
    writeFileSync(join(cluster, file), text, { mode: 0o600 })
    giveTo(account, join(cluster, file))
  }

  const follow = from?.follow
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    wal_keep_size: '1GB',
    max_wal_senders: '10',
    hot_standby: 'on',
    wal_receiver_status_interval: '1s',
    // After a restart of the primary, synchronous commits wait until the standby has reconnected; it tries this often.
    wal_retrieve_retry_interval: '200ms',
    ...(follow && {
      primary_conninfo: `host=127.0.0.1 port=${follow.port} user=${ROLE} password=${password} application_name=standby`,
    }),
  }
  const socket = openSocketDirectory(home)
  const command = [
    join(binaries, 'bin', 'postgres'),
    ...serverArguments(cluster, socket, DURABLE_SETTINGS),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  let server: Server | undefined

  const urlAt = (at: number, name = database) => `postgresql://${ROLE}:${password}@127.0.0.1:${at}/${name}`
  const local = (name: string) => `postgresql://${ROLE}@localhost:${port}/${name}?host=${encodeURIComponent(socket)}`

  /** Runs `work` as superuser, on a new connection. */
  async function withClient<T>(work: (client: pg.Client) => Promise<T>, name = database): Promise<T> {
    const client = new pg.Client({ connectionString: local(name), connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end().catch(() => {})
    }
  }
  const query = async <R extends pg.QueryResultRow>(sql: string, values: unknown[] = [], name = database) =>
    (await withClient((client) => client.query<R>(sql, values), name)).rows

  async function start(): Promise<void> {
    rmSync(join(cluster, 'postmaster.pid'), { force: true })
    server = launchServer(home, cluster, command, '')
    const giveUp = performance.now() + readyWithinMs
    for (;;) {
      const failure = await query('select 1', [], 'postgres').then(
        () => undefined,
        (e: Error) => e,
      )
      if (!failure) return
      if (server.hasEnded()) throw new Error(`PostgreSQL ended: ${await server.ended}`)
      if (performance.now() > giveUp) throw failure
      await delay(20)
    }
  }

  await start()
  if (!from) {
    await query(`alter role ${ROLE} password '${password}'`, [], 'postgres')
    await query(`create database ${database}`, [], 'postgres')
  }

  return {
    port,
    password,
    path,
    /** The URL through a proxy on this port, or of the server itself. */
    urlAt,
    /** The URL of the Unix socket; network faults do not affect it. */
    localUrl: local(database),
    start,
    query,
    withClient,
    /** Processes of this cluster that serve connections; they may be stopped and continued. */
    backends: (): number[] => findBackends(cluster).filter((pid) => pid !== findPostmaster(cluster)),
    /** Fast shutdown: open transactions are rolled back, clients are told, and standbys receive all WAL. */
    stop: async (): Promise<void> => {
      await server?.stop()
    },
    /** SIGKILL of the postmaster; its children end by themselves. */
    kill: async (): Promise<void> => {
      const pid = findPostmaster(cluster)
      if (pid !== null) process.kill(pid, 'SIGKILL')
      while (server?.hasEnded() === false || findBackends(cluster).length > 0) await delay(5)
    },
    promote: () => query('select pg_promote(true, 30)'),
    /** From now on commits wait for a standby. Settles when a standby is connected and has all WAL. */
    requireStandby: async (): Promise<void> => {
      await query(`alter system set synchronous_standby_names = '*'`)
      await query('select pg_reload_conf()')
      for (;;) {
        const [row] = await query<{ ok: boolean }>(
          `select coalesce(bool_or(sync_state = 'sync' and flush_lsn >= pg_current_wal_flush_lsn()), false) as ok from pg_stat_replication`,
        )
        if (row?.ok) return
        await delay(20)
      }
    },
    forgetStandby: async (): Promise<void> => {
      await query('alter system reset synchronous_standby_names')
      await query('select pg_reload_conf()')
    },
    /** A base backup of the running cluster, with the WAL that it needs to start. */
    backup: (): Promise<Backup> =>
      withClient(async (client) => {
        const to = mkdtempSync(join(tmpdir(), 'holdfast-backup-'))
        const removeCopy = () => rmSync(to, { recursive: true, force: true })
        atEnd(removeCopy)
        const copy = join(to, 'cluster')
        mkdirSync(copy, { mode: 0o700 })
        giveTo(account, copy)
        await client.query(`select pg_backup_start('holdfast', fast => true)`)
        const leave = new Set(['postmaster.pid', 'postmaster.opts', 'pg_wal', 'pg_replslot', 'standby.signal'])
        for (const name of readdirSync(cluster))
          if (!leave.has(name)) await run('cp', ['-a', join(cluster, name), copy]).catch(unlessGone)
        const { rows } = await client.query<{ labelfile: string }>(
          'select labelfile from pg_backup_stop(wait_for_archive => false)',
        )
        await run('cp', ['-a', join(cluster, 'pg_wal'), copy]).catch(unlessGone)
        const slots = join(copy, 'pg_replslot')
        mkdirSync(slots, { mode: 0o700 })
        const label = join(copy, 'backup_label')
        writeFileSync(label, rows[0]?.labelfile ?? '', { mode: 0o600 })
        for (const each of [slots, label]) giveTo(account, each)
        return { path: copy, password, remove: removeCopy }
      }),
    remove: async (): Promise<void> => {
      await server?.stop()
      forget()
      removeFiles()
    },
  }
}

/** Sends a signal; a process that has already ended is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'ESRCH') throw e
  }
}

/**
 * Kills all processes of a cluster and waits up to 5 s for their end, since they would write into files that are being
 * removed. It blocks: this process has nothing else left to do.
 */
function endAllOf(cluster: string): void {
  const giveUp = performance.now() + 5_000
  for (let pids = findAllOf(cluster); pids.length > 0 && performance.now() < giveUp; pids = findAllOf(cluster)) {
    for (const pid of pids) signal(pid, 'SIGKILL')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  }
}

/** Ignores files that disappear while a running cluster is copied; the WAL makes up for them. */
function unlessGone(e: unknown): void {
  if (!/No such file/.test((e as { stderr?: string }).stderr ?? '')) throw e
}

/** Processes for which `holds` is true; a process that ends during the check is left out. */
const findProcesses = (holds: (pid: number) => boolean): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return holds(pid)
      } catch {
        return false
      }
    })
const isIn = (cluster: string) => (pid: number) => readlinkSync(`/proc/${pid}/cwd`) === cluster

/** Processes of a cluster, including its postmaster if it runs. */
const findBackends = (cluster: string): number[] => findProcesses(isIn(cluster))
/**
 * All processes of a cluster, including those that are starting: the shell above a server, or a server that has not
 * changed to its folder yet. A process that copies the cluster is included.
 */
const findAllOf = (cluster: string): number[] => [
  ...findBackends(cluster),
  ...findProcesses((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(cluster)),
]
