import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'

const directory = join(import.meta.dirname, '../../../migrations')

/** Creates the empty schema from before a migration; the migration is named without its number. */
export async function migrateBefore(client: pg.Client, migration: string): Promise<void> {
  await client.query(
    'create table schema_migrations (version integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())',
  )
  for (const name of (await readdir(directory)).sort()) {
    if (name.slice(5) === `${migration}.sql`) return
    const text = await readFile(join(directory, name), 'utf8')
    await client.query(text)
    const values = [Number(name.slice(0, 4)), name, createHash('sha256').update(text).digest('hex')]
    await client.query('insert into schema_migrations (version, name, sha256) values ($1, $2, $3)', values)
  }
  throw new Error(`no migration is called ${migration}`)
}
