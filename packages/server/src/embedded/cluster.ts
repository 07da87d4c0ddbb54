import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { giveTo, runAs } from './account.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import type { Home } from './home.ts'

/** The only superuser. Authentication is by the socket's directory, which only the account can enter. */
export const ROLE = 'holdfast'

/**
 * Settings of a cluster with durable data. They are on the command line, so that they always match the running version.
 */
export const DURABLE_SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  // Until a new table has statistics, checks of foreign keys to it may read all its rows.
  autovacuum_naptime: '10s',
  max_connections: '100',
  max_wal_size: '2GB',
}

/** Settings of a throw-away cluster. It is deleted before it needs any vacuum. */
export const THROWAWAY_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '200',
  max_wal_size: '1GB',
}

export type ClusterSettings = Readonly<Record<string, string>>

/** Returns the command line of `postgres`, without the program itself. */
export function serverArguments(cluster: string, socketDirectory: string, settings: ClusterSettings): string[] {
  const all = {
    ...settings,
    listen_addresses: '',
    port: '5432',
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    shared_buffers: '128MB',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    // Statement errors go to the client. The log file gets only messages about the server.
    log_min_messages: 'log',
  }
  return ['-D', cluster, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/**
 * Creates the cluster in `<home>/cluster` if it does not exist. It is created under another name and renamed when
 * complete, so that an interrupted start leaves nothing that looks like a database.
 */
export function ensureCluster(home: Home, binaries: string, durable: boolean): string {
  const cluster = join(home.path, 'cluster')
  if (existsSync(cluster)) return cluster
  const unfinished = join(home.path, 'cluster.new')
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { mode: 0o700 })
  giveTo(home.account, unfinished)
  const options = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const made = runAs(
    home.account,
    join(binaries, 'bin', 'initdb'),
    [
      ...['-D', unfinished, '-U', ROLE, '--auth=trust', '--data-checksums', '--no-instructions', ...options],
      ...(durable ? [] : ['--no-sync']),
    ],
    unfinished,
  )
  if (made.status !== 0) {
    const reason = made.error?.message ?? (made.stderr.match(/(?:error|FATAL): +(.*)/)?.[1] || made.stderr.trim())
    throw new EmbeddedPostgresError(`The database could not be created in ${home.path}: ${reason}.`)
  }
  runAs(home.account, '/bin/sh', ['-c', 'echo local all all trust >pg_hba.conf'], unfinished)
  renameSync(unfinished, cluster)
  if (durable) syncDirectory(home.path)
  return cluster
}

function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
