import { randomBytes } from 'node:crypto'
import { accessSync, constants, mkdtempSync, realpathSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, escapeIdentifier, escapeLiteral, Pool } from 'pg'
import { accountOwning, chooseAccount, giveTo } from '../../../src/embedded/account.ts'
import { startThrowawayPostgres } from '../../../src/embedded/postgres.ts'

/** A template database for test files of one kind. `prepare` runs once per cluster and closes its connections. */
export interface Template {
  name: string
  /** The template that it is based on; empty database if undefined. */
  from?: Template
  prepare(url: string): Promise<void>
}

interface TestDatabase {
  /** URL of a superuser. */
  url: string
  drop(): Promise<void>
}

/** Uses memory if it has enough space: the main cost of a database is creating its 700 files. */
function scratchDirectory(): string {
  const inMemory = '/dev/shm'
  try {
    accessSync(inMemory, constants.W_OK)
    const { bavail, bsize } = statfsSync(inMemory)
    if (bavail * bsize >= 4 * 2 ** 30) return inMemory
  } catch {
    // There is no such directory on this system.
  }
  return tmpdir()
}

/**
 * Starts a throw-away cluster (no fsync) in a temporary directory. It is removed with its files by `stop()` or at the
 * end of this process, whichever comes first.
 */
export async function startTestCluster(): Promise<{ url: string; stop(): Promise<void> }> {
  const path = mkdtempSync(join(realpathSync(scratchDirectory()), 'hft-'))
  const account = chooseAccount(path)
  giveTo(account, path)
  return startThrowawayPostgres({ path, owner: accountOwning(path), account }, { info() {}, warn: console.warn })
}

let cluster: Promise<string> | undefined

/** Returns the run's shared cluster (`HOLDFAST_TEST_DATABASE_URL`, set by scripts/test.mjs), or this process's own. */
function findCluster(): Promise<string> {
  cluster ??= Promise.resolve(process.env.HOLDFAST_TEST_DATABASE_URL || startTestCluster().then(({ url }) => url))
  return cluster
}

/** Names of templates that are known to be complete. */
const finished = new Set<string>()
let administrators: Pool | undefined

/** Runs a statement on kept connections, which do not keep the process from ending. */
async function administer(server: string, statement: string): Promise<void> {
  if (!administrators) {
    administrators = new Pool({ connectionString: server, max: 2, idleTimeoutMillis: 0, allowExitOnIdle: true })
    // The cluster may stop while connections are open.
    administrators.on('error', () => {})
  }
  await administrators.query(statement)
}

/** Creates a database for one test file: empty, or a copy of the template, which the first caller prepares. */
export async function createTestDatabase(template?: Template): Promise<TestDatabase> {
  const server = await findCluster()
  const name = `test_${randomBytes(8).toString('hex')}`
  if (template && !finished.has(template.name)) {
    await withClient(server, (client) => ensureTemplate(client, server, template))
    finished.add(template.name)
  }
  await administer(server, copyOf(template ? nameOf(template) : 'template1', name))
  return {
    url: urlOf(server, name),
    drop: () => administer(server, `drop database if exists ${escapeIdentifier(name)} with (force)`),
  }
}

const nameOf = ({ name }: Template) => `template_${name}`

/** Copying files takes half as long as logging all their pages. */
const copyOf = (source: string, name: string) =>
  `create database ${escapeIdentifier(name)} template ${escapeIdentifier(source)} strategy file_copy`

/** Only a complete template has `datistemplate`. One that an interrupted run left incomplete is created again. */
async function ensureTemplate(client: Client, server: string, template: Template): Promise<string> {
  const { from, prepare } = template
  const database = nameOf(template)
  const identifier = escapeIdentifier(database)
  const isReady = async () => {
    const found = await client.query('select from pg_database where datname = $1 and datistemplate', [database])
    return found.rowCount === 1
  }
  if (await isReady()) return database
  const lock = `hashtextextended(${escapeLiteral(database)}, 0)`
  await client.query(`select pg_advisory_lock(${lock})`)
  try {
    if (await isReady()) return database
    await client.query(`drop database if exists ${identifier} with (force)`)
    const source = from ? await ensureTemplate(client, server, from) : 'template1'
    await client.query(copyOf(source, database))
    await prepare(urlOf(server, database))
    await client.query(`alter database ${identifier} is_template true`)
    return database
  } finally {
    await client.query(`select pg_advisory_unlock(${lock})`)
  }
}

export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function urlOf(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}
