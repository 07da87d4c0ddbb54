import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DatabaseError } from 'pg'
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

/** Brings the schema to this version: numbered files, each in a transaction of its own, forward only. */
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
    // A change of the schema takes the time it takes.
    if (ownTransactions) await connection.query('begin')
    const statements = version === 1 && (await hasApplicationRole(connection)) ? withoutRole(text) : text
    await connection.query(statements).catch((e: unknown) => {
      throw isAway(e) ? e : failed(name, e as DatabaseError)
    })
    await connection.query('insert into schema_migrations (version, name, sha256) values ($1, $2, $3)', [
      version,
      name,
      sha256,
    ])
    if (ownTransactions) await connection.query('commit')
    applied.push(name)
  }
  return { applied }
}

/** An error that comes again however often the migration is tried. */
const failed = (name: string, { message, code, where }: DatabaseError) =>
  new MigrationError(
    `Migration ${name} failed, and none of it was kept: ${message} (${[`SQLSTATE ${code}`, ...(where ? [where.split('\n')[0]] : [])].join(', ')}).`,
  )

/**
 * The first migration without the part that makes the application's role and grants it, which a user without CREATEROLE
 * may not run even where the role is there.
 */
function withoutRole(text: string): string {
  const part = /^do \$\$ begin\n {2}(?:create role|execute format\('grant) holdfast_app [\s\S]*?^end \$\$;\n/gm
  return text.replace(part, '')
}
