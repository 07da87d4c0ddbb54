import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import copyStreams from 'pg-copy-streams'
import type { Connection } from '../db/connection.ts'
import { bringForward, knownMigrations, whileNobodyMigrates } from '../db/migrate.ts'
import { BackupError } from './backup-error.ts'
import type { ReportProgress } from './dump.ts'
import { fence } from './fence.ts'
import type { Head } from './manifest.ts'
import { type BackupOpening, readBackup } from './read.ts'
import { migrationsOf, quoted, sessionSettings, tableNames, tablesToKeep } from './schema.ts'

/**
 * Loads a backup into an empty database: first the schema of the backup, then in one transaction all rows, the later
 * migrations, and the fence. It commits only after the backup has proved complete. Until then no other process
 * migrates: a server that starts meanwhile waits, and then finds everything or nothing.
 */
export async function load(
  url: string,
  opening: BackupOpening,
  progress: ReportProgress,
): Promise<{ head: Head; tenants: number }> {
  // A separate pass, so that a bad file is found before anything is written.
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
          if (!isDeepStrictEqual(again, head))
            throw new BackupError(
              'The backup file changed while it was read: make sure that no process writes to it, then try again.',
            )
        },
        take: async (table, bytes) => {
          const taken = (rows.get(table.name) ?? 0) + (await copyIn(connection, table, bytes))
          rows.set(table.name, taken)
          progress(`${table.name}: ${taken} rows`)
        },
      })
      for (const { name, rows: expected } of tables)
        if ((rows.get(name) ?? 0) !== expected)
          throw new BackupError(
            `Table ${name} has ${rows.get(name) ?? 0} rows after the restore, but the backup has ${expected}.`,
          )
      await finish(connection, head)
      // The fence uses the tables of this version.
      await bringForward(connection, { ownTransactions: false })
      const tenants = await fence(connection, { job: 'restore', taken_at: head.taken_at })
      await connection.query('commit').catch((cause: unknown) => {
        throw new BackupError(
          'The result of the restore is unknown: the database did not answer the commit. Run the restore again; if the first one succeeded, it reports that the database is not empty.',
          { cause },
        )
      })
      return { head, tenants }
    } catch (e) {
      // If the rollback gets no answer, closing the connection also rolls back.
      await connection.ask('rollback').catch(() => {})
      throw e
    }
  })
}

/** Returns the newest migration of a backup. This version must know all its migrations, unchanged. */
async function requireKnown({ migrations }: Head): Promise<number> {
  const known = await knownMigrations()
  const [newest, supported] = [migrations, known].map((all) => all.at(-1)?.version ?? 0) as [number, number]
  if (newest > supported)
    throw new BackupError(
      `The backup was made by a newer Holdfast (schema ${newest}; this version supports up to ${supported}): install that version or a newer one, and restore with it.`,
    )
  const other = migrations.find(({ version, sha256 }, i) => known[i]?.version !== version || known[i].sha256 !== sha256)
  if (other)
    throw new BackupError(
      `The backup was made by a Holdfast with the migration ${other.version}, which this version does not have: restore with the version that made the backup.`,
    )
  return newest
}

async function requireEmpty(connection: Connection): Promise<void> {
  const tables = await tableNames(connection)
  if (tables.length === 0) return
  if (!tables.includes('schema_migrations'))
    throw new BackupError(
      `The database is not empty: it has the table ${tables[0]}. Set DATABASE_URL to an empty database.`,
    )
  if (!tables.includes('tenants')) return
  const [row] = await connection.ask<{ found: boolean }>('select exists (select from tenants) as found')
  if (row?.found)
    throw new BackupError(
      'The database is not empty: it holds a deployment. Set DATABASE_URL to an empty database, or drop this one.',
    )
}

async function requireSameSchema(connection: Connection, head: Head): Promise<void> {
  if (!isDeepStrictEqual(await migrationsOf(connection), head.migrations))
    throw new BackupError(
      'The database is not empty: it has the tables of another version. Set DATABASE_URL to an empty database, or drop this one.',
    )
  // The table names are used in statements, so they must equal those of the database.
  if (!isDeepStrictEqual(await tablesToKeep(connection), head.tables))
    throw new BackupError('The backup is invalid: its tables differ from those of its version.')
}

/** Disables triggers, so that rows are loaded unchanged. Only foreign keys are still checked. */
async function prepare(connection: Connection, { months, tables }: Head): Promise<void> {
  for (const month of months) await connection.query('call ensure_partitions($1::timestamptz)', [month])
  for (const { name } of tables)
    await connection.query(`alter table ${quoted(connection, [name])} disable trigger user`)
  // The backup also has the rows that migrations inserted, as of its time.
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
