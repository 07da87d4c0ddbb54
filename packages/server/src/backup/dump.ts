import { createHash } from 'node:crypto'
import copyStreams from 'pg-copy-streams'
import type { Connection } from '../db/connection.ts'
import type { ArchiveEntry } from './archive.ts'
import { BackupError } from './backup-error.ts'
import { type Content, contentsOf, type Head, jsonBytes, names, partName } from './manifest.ts'
import { countersOf, migrationsOf, monthsOf, quoted, sessionSettings, tableNames, tablesToKeep } from './schema.ts'

/** Approximate size of an entry, in bytes. An entry holds whole rows. */
const partBytes = 1024 * 1024

type BackupKey = Parameters<typeof contentsOf>[2]
/** Receives frequent progress messages. */
export type ReportProgress = (sentence: string) => void

/**
 * Dumps everything as of one point in time, in one read-only transaction. Reads and writes of rows continue meanwhile;
 * only changes and drops of tables wait.
 */
export async function* dump(
  connection: Connection,
  { key, head: taken, progress }: { key: BackupKey; head: (head: Head) => void; progress: ReportProgress },
): AsyncGenerator<ArchiveEntry> {
  await connection.query(sessionSettings)
  const tables = await tableNames(connection)
  if (!tables.includes('schema_migrations'))
    throw new BackupError(
      'The database has no tables of Holdfast: check DATABASE_URL, or start the server once. There is nothing to back up.',
    )
  // The locks come before the snapshot, so that no table is dropped between the two.
  await connection.query('begin isolation level repeatable read read only')
  await connection.query(`lock table ${quoted(connection, tables)} in access share mode`)
  const head = await readHeadOf(connection)
  taken(head)
  const headBytes = jsonBytes(head)
  yield { name: names.head, bytes: headBytes }
  const contents: Content[] = []
  for (const { name, columns } of head.tables) {
    const content = { name, rows: 0, bytes: 0 }
    const hash = createHash('sha256')
    const query = `copy (select ${quoted(connection, columns)} from ${quoted(connection, [name])}) to stdout`
    const rows = connection.query(copyStreams.to(query))
    let part = 0
    for await (const bytes of inParts(rows)) {
      hash.update(bytes)
      content.bytes += bytes.length
      yield { name: partName(name, ++part), bytes }
    }
    content.rows = rows.rowCount
    contents.push({ ...content, sha256: hash.digest('hex') })
    progress(`${name}: ${content.rows} rows`)
  }
  await connection.query('commit')
  yield { name: names.contents, bytes: jsonBytes(contentsOf(headBytes, contents, key)) }
}

async function readHeadOf(connection: Connection): Promise<Head> {
  const [now] = await connection.ask<{ taken_at: Date; tenants: string; deployment_id: string }>(
    `select now() as taken_at, (select count(*) from tenants) as tenants,
       (select deployment_id from deployment) as deployment_id`,
  )
  const keys = await connection.ask<{ key_id: string }>(
    'select key_id from master_keys where written_at is not null and unused_since is null order by version',
  )
  const [packages] = await connection.ask<{ count: string; bytes: string }>(
    `select count(*) as count, coalesce(sum(size), 0) as bytes from package_blobs where state = 'stored'`,
  )
  if (!now?.deployment_id || !packages)
    throw new BackupError('The database is empty: start the server once. There is nothing to back up.')
  return {
    format: 'holdfast-backup-1',
    taken_at: now.taken_at.toISOString(),
    deployment_id: now.deployment_id,
    tenants: Number(now.tenants),
    migrations: await migrationsOf(connection),
    master_keys: keys.map((row) => row.key_id),
    tables: await tablesToKeep(connection),
    months: await monthsOf(connection),
    counters: await countersOf(connection),
    packages: { count: Number(packages.count), bytes: Number(packages.bytes) },
  }
}

const newline = 0x0a
/**
 * Splits COPY text between rows. Within a row a line feed is escaped as `
 * `.
 */
async function* inParts(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    const end = size + chunk.length < partBytes ? -1 : chunk.lastIndexOf(newline)
    if (end < 0) {
      held.push(chunk)
      size += chunk.length
      continue
    }
    yield Buffer.concat([...held, chunk.subarray(0, end + 1)])
    held = [chunk.subarray(end + 1)]
    size = held[0]!.length
  }
  if (size > 0) yield Buffer.concat(held)
}
