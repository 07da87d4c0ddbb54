import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import copyStreams from 'pg-copy-streams'
import type { Connection } from '../db/connection.ts'
import { bringForward, knownMigrations, whileNobodyMigrates } from '../db/migrate.ts'
import { BackupError } from './backup-error.ts'
import type { Progress } from './dump.ts'
import { fence } from './fence.ts'
import type { Head } from './manifest.ts'
import { type Opening, readBackup } from './read.ts'
import { migrationsOf, quoted, sessionSettings, tableNames, tablesToKeep } from './schema.ts'

/**
 * Brings a backup into an empty database: the schema as it was then, and in one transaction all rows, the migrations
 * that came after it, and the fence. It is committed when the backup has proved to be whole; until then nobody else
 * migrates, so that a server that starts meanwhile waits and finds all of it, or nothing.
 */
export async function load(
  url: string,
  opening: Opening,
  progress: Progress,
): Promise<{ head: Head; tenants: number }> {
  // A pass of its own, so that a file that is no good is found before anything is written.
  const { head, tables } = await readBackup(opening)
  const newest = await requireKnown(head)
  return whileNobodyMigrates(url, async (connection) => {
    await requireEmpty(connection)
    await bringForward(connection, { to: newest })
    await connection.query(sessionSettings)
    await connection.query('begin')
    try {
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
          const taken = (rows.get(table.name) ?? 0) + (await copyIn(connection, table, bytes))
          rows.set(table.name, taken)
          progress(`${table.name}: ${taken} rows`)
        },
      })
      for (const { name, rows: expected } of tables)
        if ((rows.get(name) ?? 0) !== expected)
          throw new BackupError(`The database took ${rows.get(name) ?? 0} rows of ${name} where there are ${expected}.`)
      await finish(connection, head)
      // What fences knows the tables of this version.
      await bringForward(connection, { ownTransactions: false })
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

/** The newest migration of a backup, all of which this version has to know as they were. */
async function requireKnown({ migrations }: Head): Promise<number> {
  const known = await knownMigrations()
  const [newest, ours] = [migrations, known].map((all) => all.at(-1)?.version ?? 0) as [number, number]
  if (newest > ours)
    throw new BackupError(
      `The backup is of a newer Holdfast (schema ${newest}, this version knows ${ours}): install that version or a newer one, and restore it with that.`,
    )
  const other = migrations.find(({ version, sha256 }, i) => known[i]?.version !== version || known[i].sha256 !== sha256)
  if (other)
    throw new BackupError(
      `The backup is of another Holdfast, whose migration ${other.version} this version does not have: restore it with the version that made it.`,
    )
  return newest
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
      'The database is not empty: it has the tables of another version, without a deployment. Name one that is, or drop this one.',
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
