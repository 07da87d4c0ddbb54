import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseError } from 'pg'
import { minute, second } from '../kernel/time.ts'
import { databaseLocks } from './advisory-locks.ts'
import { hasApplicationRole } from './check-server.ts'
import type { Connection } from './connection.ts'
import { withDatabaseLock } from './lock.ts'
import { isAway, PermanentError } from './unavailable.ts'

const directory = join(import.meta.dirname, '../../migrations')

export class MigrationError extends PermanentError {}

type Migration = { version: number; name: string; sha256: string; text: string }

/** Returns the migrations of this version, oldest first. */
export async function knownMigrations(): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((f) => /^\d{4}_\w+\.sql$/.test(f)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(directory, name), 'utf8')
      return { version: Number(name.slice(0, 4)), name, sha256: createHash('sha256').update(text).digest('hex'), text }
    }),
  )
}

/** Runs `work` while no other process migrates. A server that starts meanwhile waits. */
export const whileNobodyMigrates = <T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> =>
  withDatabaseLock(url, databaseLocks.migration, work)

/** Migrates the schema to this version: numbered files, forward only. */
export const migrate = (url: string): Promise<{ applied: string[] }> => whileNobodyMigrates(url, (c) => bringForward(c))

/**
 * Does the same for a caller that holds the migration lock; optionally up to a given version, or as part of the
 * caller's own transaction.
 */
export async function bringForward(
  connection: Connection,
  { to = Number.POSITIVE_INFINITY, ownTransactions = true }: { to?: number; ownTransactions?: boolean } = {},
): Promise<{ applied: string[] }> {
  await connection.ask(
    'create table if not exists schema_migrations (version integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())',
  )
  const rows = await connection.ask<{ version: number; sha256: string }>(
    'select version, sha256 from schema_migrations',
  )
  const done = new Map(rows.map((r) => [r.version, r.sha256]))
  const known = await knownMigrations()
  const newest = Math.max(0, ...done.keys())
  const supported = known.at(-1)?.version ?? 0
  if (newest > supported)
    throw new MigrationError(
      `The database was migrated by a newer Holdfast (schema ${newest}, this version supports up to ${supported}): install that version or a newer one.`,
    )
  const applied: string[] = []
  for (const { version, name, sha256, text } of known) {
    if (version > to) break
    const before = done.get(version)
    if (before === sha256) continue
    if (before) throw new MigrationError(`Migration ${name} differs from the one this database was migrated with.`)
    const statements = version === 1 && (await hasApplicationRole(connection)) ? withoutRole(text) : text
    const record = () =>
      connection.query('insert into schema_migrations (version, name, sha256) values ($1, $2, $3)', [
        version,
        name,
        sha256,
      ])
    await run(connection, statements, { record, ownTransactions }).catch((e: unknown) => {
      throw isAway(e) && !isLockConflict(e) ? e : failed(name, modeOf(text), e as DatabaseError)
    })
    applied.push(name)
  }
  return { applied }
}

/**
 * Runs one migration, and `record` with its last part. The first line of a file selects the mode:
 * - without such a line: all of it in one transaction;
 * - `-- migrate: batches`: one statement per batch of rows, each in its own transaction. Its parameters are the key
 * (two UUIDs) after which the batch starts; its row is the last key of the batch. The run ends with a batch without a
 * row. A repeated batch changes nothing more;
 * - `-- migrate: concurrently`: repeatable statements that run outside a transaction.
 */
async function run(
  connection: Connection,
  text: string,
  { record, ownTransactions }: { record: () => Promise<unknown>; ownTransactions: boolean },
): Promise<void> {
  const transaction = <T>(work: () => Promise<T>): Promise<T> =>
    ownTransactions ? untilLocked(() => inShortTransaction(connection, work)) : work()
  const mode = modeOf(text)
  if (mode === 'batches') {
    const first = '00000000-0000-0000-0000-000000000000'
    for (let after: unknown[] | undefined = [first, first]; after; ) {
      const values: unknown[] = after
      const batch = () => connection.query<unknown[]>({ text, values, rowMode: 'array' })
      after = (await transaction(batch)).rows[0]
    }
  }
  if (mode === 'concurrently') {
    const lock = <T>(step: () => Promise<T>) => (ownTransactions ? untilLocked(step) : step())
    const outside = ownTransactions ? text : text.replaceAll(' concurrently ', ' ')
    const statements = outside.replace(/^--.*\n/gm, '').split(/;\n/)
    for (const statement of statements.filter((s) => s.trim() !== '')) await lock(() => connection.query(statement))
  }
  await transaction(async () => {
    if (!mode) await connection.query(text)
    await record()
  })
}

const modeOf = (text: string) => /^-- migrate: (batches|concurrently)\n/.exec(text)?.[1]

/** Longest wait for a lock, in ms. Statements of the running version queue behind a migration that waits. */
const lockTimeoutMs = 500
const patienceMs = 5 * minute
const longestPauseMs = 5 * second

async function inShortTransaction<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.query(`begin; set local lock_timeout = ${lockTimeoutMs}`)
  try {
    const result = await work()
    await connection.query('commit')
    return result
  } catch (e) {
    // Closing the connection also rolls back.
    await connection.ask('rollback').catch(() => {})
    throw e
  }
}

/** 40P01: deadlock. 55P03: the lock was not free within `lock_timeout`. */
const isLockConflict = (e: unknown): boolean => ['40P01', '55P03'].includes((e as DatabaseError).code ?? '')

/** Retries a step that failed on locks of other transactions. These continue during the pauses. */
async function untilLocked<T>(step: () => Promise<T>): Promise<T> {
  const until = performance.now() + patienceMs
  for (let pauseMs = 200; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs))
    try {
      return await step()
    } catch (e) {
      if (!isLockConflict(e) || performance.now() > until) throw e
      await delay(pauseMs)
    }
}

/** Creates an error that retries can't solve. */
function failed(name: string, mode: string | undefined, { message, code, where }: DatabaseError): MigrationError {
  const state = [`SQLSTATE ${code}`, ...(where ? [where.split('\n')[0]] : [])].join(', ')
  return isLockConflict({ code })
    ? new MigrationError(
        `Migration ${name} got no lock within ${patienceMs / minute} minutes, because other transactions hold it: end the long transactions that pg_stat_activity shows, then start again (${message}, ${state}).`,
      )
    : new MigrationError(
        `Migration ${name} failed${mode ? ' and is repeated at the next start' : ' and was rolled back'}: ${message} (${state}).`,
      )
}

/**
 * Returns the first migration without the part that creates and grants the application's role. A user without
 * CREATEROLE may not run that part, even if the role exists.
 */
function withoutRole(text: string): string {
  const part = /^do \$\$ begin\n {2}(?:create role|execute format\('grant) holdfast_app [\s\S]*?^end \$\$;\n/gm
  return text.replace(part, '')
}
