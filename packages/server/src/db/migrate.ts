import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withDatabaseLock } from './lock.ts'

const directory = join(import.meta.dirname, '../../migrations')
// Any number serves that no other user of the database takes; held while migrating, so that replicas take turns.
const migrationLock = 7_264_401

export class MigrationError extends Error {}

/**
 * Brings the schema to this version, or to an earlier one that is named: numbered files, each in a transaction of its
 * own, forward only.
 */
export const migrate = (url: string, to = Number.POSITIVE_INFINITY): Promise<{ applied: string[] }> =>
  withDatabaseLock(url, migrationLock, async (connection) => {
    await connection.ask(
      'create table if not exists schema_migrations (version integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())',
    )
    const rows = await connection.ask<{ version: number; sha256: string }>(
      'select version, sha256 from schema_migrations',
    )
    const known = new Map(rows.map((r) => [r.version, r.sha256]))
    const files = (await readdir(directory)).filter((f) => /^\d{4}_\w+\.sql$/.test(f)).sort()
    const newest = Math.max(0, ...known.keys())
    const ours = Number(files.at(-1)?.slice(0, 4))
    if (newest > ours)
      throw new MigrationError(
        `The database was migrated by a newer Holdfast (schema ${newest}, this version knows ${ours}): install that version or a newer one.`,
      )
    const applied: string[] = []
    for (const name of files) {
      const version = Number(name.slice(0, 4))
      if (version > to) break
      const text = await readFile(join(directory, name), 'utf8')
      const sha256 = createHash('sha256').update(text).digest('hex')
      const before = known.get(version)
      if (before === sha256) continue
      if (before) throw new MigrationError(`Migration ${name} differs from the one this database was migrated with.`)
      // A change of the schema takes the time it takes.
      await connection.query('begin')
      await connection.query(text)
      await connection.query('insert into schema_migrations (version, name, sha256) values ($1, $2, $3)', [
        version,
        name,
        sha256,
      ])
      await connection.query('commit')
      applied.push(name)
    }
    return { applied }
  })
