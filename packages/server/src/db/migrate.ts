import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseError } from 'pg'
import { minute, second } from '../kernel/time.ts'
import { isAway, PermanentError } from './away.ts'
import { hasApplicationRole } from './check-server.ts'
import type { Connection } from './connection.ts'
import { withDatabaseLock } from './lock.ts'

const directory = join(import.meta.dirname, '../../migrations')
// Any number serves that no other user of the database takes; held while migrating, so that replicas take turns.
const migrationLock = 7_264_401

export class MigrationError extends PermanentError {}

type Migration = { version: number; name: string; sha256: string; text: string }

/** What this version knows, oldest first. */
export async function knownMigrations(): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((f) => /^\d{4}_\w+\.sql$/.test(f)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(directory, name), 'utf8')
      return { version: Number(name.slice(0, 4)), name, sha256: createHash('sha256').update(text).digest('hex'), text }
    }),
  )
}

/** Runs `work` while nobody else migrates: a server that starts meanwhile waits for it. */
export const whileNobodyMigrates = <T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> =>
  withDatabaseLock(url, migrationLock, work)

/** Brings the schema to this version: numbered files, forward only. */
export const migrate = (url: string): Promise<{ applied: string[] }> => whileNobodyMigrates(url, (c) => bringForward(c))

/**
 * The same for who keeps others from it, also to an earlier version that is named, or as a part of the caller's own
 * transaction.
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
  const ours = known.at(-1)?.version ?? 0
  if (newest > ours)
    throw new MigrationError(
      `The database was migrated by a newer Holdfast (schema ${newest}, this version knows ${ours}): install that version or a newer one.`,
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
 * Runs one migration, and `record` with its last part. The first line of a file says how it runs:
 * - without such a line: all of it in one transaction;
 * - `-- migrate: batches`: one statement for one batch of rows, in a transaction of its own each time. Its parameters
 *   are the key of two UUIDs after which the batch starts; its row is the last key of the batch. The run ends
 *   with a batch that has no row. A batch that is repeated changes nothing more;
 * - `-- migrate: concurrently`: statements that run outside a transaction, and that can all be repeated.
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

/** Statements of the running version queue behind a migration that waits for a lock: so long at most. */
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
    // The end of the connection undoes it as well.
    await connection.ask('rollback').catch(() => {})
    throw e
  }
}

/** 40P01: deadlock. 55P03: the lock was not free within `lock_timeout`. */
const isLockConflict = (e: unknown): boolean => ['40P01', '55P03'].includes((e as DatabaseError).code ?? '')

/** Repeats a step that other transactions kept from its locks. They go on while it pauses. */
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

/** An error that comes again however often the migration is tried. */
function failed(name: string, mode: string | undefined, { message, code, where }: DatabaseError): MigrationError {
  const state = [`SQLSTATE ${code}`, ...(where ? [where.split('\n')[0]] : [])].join(', ')
  return isLockConflict({ code })
    ? new MigrationError(
        `Migration ${name} got no lock within ${patienceMs / minute} minutes, because other transactions hold it: end the long ones that pg_stat_activity shows, then start again (${message}, ${state}).`,
      )
    : new MigrationError(
        `Migration ${name} failed, and ${mode ? 'starts again at its beginning next time' : 'none of it was kept'}: ${message} (${state}).`,
      )
}

/**
 * The first migration without the part that makes the application's role and grants it, which a user without CREATEROLE
 * may not run even where the role is there.
 */
function withoutRole(text: string): string {
  const part = /^do \$\$ begin\n {2}(?:create role|execute format\('grant) holdfast_app [\s\S]*?^end \$\$;\n/gm
  return text.replace(part, '')
}
