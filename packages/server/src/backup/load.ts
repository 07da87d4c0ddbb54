import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import copyStreams from 'pg-copy-streams'
import { type Connection, withConnection } from '../db/connection.ts'
import { MigrationError, migrate } from '../db/migrate.ts'
import { BackupError } from './backup-error.ts'
import type { Progress } from './dump.ts'
import { fence } from './fence.ts'
import type { Head } from './manifest.ts'
import { type Opening, readBackup } from './read.ts'
import { migrationsOf, quoted, sessionSettings, tableNames, tablesToKeep } from './schema.ts'

/**
 * Brings a backup into an empty database: the schema as it was then, and then all rows and the fence in one
 * transaction, which is committed when the backup has proved to be whole. Later migrations are the next start's.
 */
export async function load(
  url: string,
  opening: Opening,
  progress: Progress,
): Promise<{ head: Head; tenants: number }> {
  // A pass of its own, so that a file that is no good is found before anything is written.
  const { head, tables } = await readBackup(opening)
  await withConnection(url, requireEmpty)
  const newest = Math.max(0, ...head.migrations.map(({ version }) => version))
  await migrate(url, newest).catch((e: unknown) => {
    throw e instanceof MigrationError ? new BackupError(e.message) : e
  })
  return withConnection(url, async (connection) => {
    await connection.query(sessionSettings)
    await connection.query('begin')
    try {
      // A server that starts meanwhile waits for what will be here.
      await connection.query('lock table tenants in access exclusive mode')
      await requireEmpty(connection)
      await requireSameSchema(connection, head)
      await prepare(connection, head)
      const rows = new Map<string, number>()
      await readBackup(opening, {
        begin: async (again) => {
          if (!isDeepStrictEqual(again, head)) throw new BackupError('The backup was changed while it was read.')
        },
        take: async (table, bytes) => {
          const before = rows.get(table.name) ?? 0
          rows.set(table.name, before + (await copyIn(connection, table, bytes)))
          progress({ table: table.name, rows: rows.get(table.name) ?? 0 })
        },
      })
      for (const { name, rows: expected } of tables)
        if ((rows.get(name) ?? 0) !== expected)
          throw new BackupError(`The database took ${rows.get(name) ?? 0} rows of ${name} where there are ${expected}.`)
      await finish(connection, head)
      const tenants = await fence(connection, { job: 'restore', taken_at: head.taken_at })
      await connection.query('commit').catch((cause: unknown) => {
        throw new BackupError(
          'Whether it was restored is not known: the database did not answer the commit. Begin again; it says so if it was.',
          { cause },
        )
      })
      return { head, tenants }
    } catch (e) {
      // Where it is not answered, the connection's end undoes it as well.
      await connection.ask('rollback').catch(() => {})
      throw e
    }
  })
}

async function requireEmpty(connection: Connection): Promise<void> {
  const tables = await tableNames(connection)
  if (tables.length === 0) return
  if (!tables.includes('schema_migrations'))
    throw new BackupError(`The database is not empty: it has the table ${tables[0]}. Name one that is.`)
  if (!tables.includes('tenants')) return
  const [row] = await connection.ask<{ found: boolean }>('select exists (select from tenants) as found')
  if (row?.found)
    throw new BackupError('The database is not empty: there is a deployment in it. Name one that is, or drop this one.')
}

async function requireSameSchema(connection: Connection, head: Head): Promise<void> {
  if (!isDeepStrictEqual(await migrationsOf(connection), head.migrations))
    throw new BackupError(
      'The backup was made by a Holdfast whose schema this version does not have: restore it with that version, and start this one then.',
    )
  // Names go from here into statements: they are those of the database.
  if (!isDeepStrictEqual(await tablesToKeep(connection), head.tables))
    throw new BackupError('The tables of the backup are not those of its version: it is not used.')
}

/** Rows come as they were: nothing is counted, noted or refused on their way but what they refer to. */
async function prepare(connection: Connection, { months, tables }: Head): Promise<void> {
  for (const month of months) await connection.query('call ensure_partitions($1::timestamptz)', [month])
  for (const { name } of tables)
    await connection.query(`alter table ${quoted(connection, [name])} disable trigger user`)
  // What migrations put there is in the backup as it was then.
  for (const { name } of tables.toReversed()) await connection.query(`delete from ${quoted(connection, [name])}`)
}

async function finish(connection: Connection, { counters, tables }: Head): Promise<void> {
  for (const { name, value } of counters)
    await connection.query('select setval($1::regclass, $2)', [quoted(connection, [name]), value])
  for (const { name } of tables) await connection.query(`alter table ${quoted(connection, [name])} enable trigger user`)
}

async function copyIn(connection: Connection, { name, columns }: Head['tables'][number], rows: Uint8Array) {
  const into = connection.query(
    copyStreams.from(`copy ${quoted(connection, [name])} (${quoted(connection, columns)}) from stdin`),
  )
  const finished = once(into, 'finish')
  into.end(rows)
  await finished
  return into.rowCount
}
