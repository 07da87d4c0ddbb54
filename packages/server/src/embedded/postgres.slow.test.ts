// Own process: it inspects all that its process has started.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { withClient } from '../../test/support/database/test-database.ts'
import { EmbeddedPostgresError, startEmbeddedPostgres } from './postgres.ts'

const silent = { info() {}, warn() {} }
const isRoot = process.getuid?.() === 0
let scratch: string
before(() => {
  scratch = mkdtempSync(join(tmpdir(), 'hf-embedded-'))
  chmodSync(scratch, 0o755)
})
after(() => rmSync(scratch, { recursive: true, force: true }))

/** Returns a copy of a data directory after a first start and a stop, for tests that do not test its creation. */
function newDataDir(name: string): string {
  const dataDir = join(scratch, name)
  const copied = spawnSync('cp', ['-a', join(scratch, 'first'), dataDir], { encoding: 'utf8' })
  assert.equal(copied.status, 0, copied.stderr)
  return dataDir
}

/** Starts PostgreSQL, runs work on one connection, stops. */
async function withPostgres<T>(dataDir: string, work: (client: Client) => Promise<T>): Promise<T> {
  const postgres = await startEmbeddedPostgres({ dataDir, log: silent })
  try {
    return await withClient(postgres.connectionString, work)
  } finally {
    await postgres.stop()
  }
}

async function writeRow(client: Client): Promise<void> {
  await client.query('create table kept (word text)')
  await client.query(`insert into kept values ('committed')`)
}

async function readRow(client: Client): Promise<unknown> {
  return (await client.query('select word from kept')).rows[0]?.word
}

/** Starts a separate process that starts PostgreSQL, commits a row and stays. Returns it with all its descendants. */
async function startParent(dataDir: string): Promise<{ parent: ChildProcess; below: number[] }> {
  const program = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(import.meta.resolve('./postgres.ts'))})
    const { Client } = (await import(${JSON.stringify(import.meta.resolve('pg'))})).default
    const log = { info() {}, warn() {} }
    const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, log })
    const client = new Client({ connectionString: postgres.connectionString })
    await client.connect()
    await client.query('create table if not exists kept (word text)')
    await client.query("insert into kept values ('committed')")
    console.log('committed')
    setInterval(() => {}, 1000)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  await Promise.race([
    once(parent.stdout!, 'data'),
    once(parent, 'exit').then(() => assert.fail('the parent ended before it committed')),
  ])
  const below = descendants(parent.pid!)
  assert.ok(below.length > 5, 'a supervisor, its watcher, the postmaster and its workers')
  return { parent, below }
}

function descendants(pid: number): number[] {
  const rows = spawnSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
    .stdout.trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const below = (of: number): number[] =>
    rows.filter(([, parent]) => parent === of).flatMap(([child]) => [child!, ...below(child!)])
  return below(pid)
}

function isAlive(pid: number): boolean {
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
  return state !== '' && !state.startsWith('Z')
}

async function untilGone(pids: number[], withinMs = 30_000): Promise<void> {
  const deadline = performance.now() + withinMs
  for (let left = pids; ; left = left.filter(isAlive)) {
    if (left.length === 0) return
    assert.ok(performance.now() < deadline, `still running after ${withinMs} ms: ${left.join(', ')}`)
    await sleep(100)
  }
}

/** Stops all before killing any, so that none can react to the death of another. */
function kill(...pids: number[]): void {
  for (const signal of ['-STOP', '-9']) spawnSync('/bin/kill', [signal, ...pids.map(String)])
}

function isShell(pid: number): boolean {
  return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout.startsWith('/bin/sh')
}

describe('the embedded PostgreSQL', () => {
  test('the first start creates a durable UTF-8 cluster that listens on no network address', async () => {
    const dataDir = join(scratch, 'first')
    const settings = await withPostgres(dataDir, async (client) => {
      const names = ['server_encoding', 'data_checksums', 'fsync', 'synchronous_commit', 'listen_addresses', 'jit']
      const rows = await client.query('select name, setting from pg_settings where name = any($1)', [names])
      return Object.fromEntries(rows.rows.map((row) => [row.name, row.setting]))
    })
    assert.deepEqual(settings, {
      server_encoding: 'UTF8',
      data_checksums: 'on',
      fsync: 'on',
      synchronous_commit: 'on',
      listen_addresses: '',
      jit: 'off',
    })
    assert.equal(statSync(join(dataDir, 'postgres', 'socket')).mode & 0o077, 0, 'the socket is private')
    assert.equal(statSync(join(dataDir, 'postgres', 'cluster')).mode & 0o077, 0, 'the cluster is private')
  })

  test('a restart keeps the data', async () => {
    const dataDir = newDataDir('restart')
    await withPostgres(dataDir, writeRow)
    assert.equal(await withPostgres(dataDir, readRow), 'committed')
  })

  test('stop() leaves no process and resolves `exited` as expected', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir: newDataDir('stop'), log: silent })
    const below = descendants(process.pid)
    assert.ok(below.length > 5)
    await postgres.stop()
    await postgres.stop()
    assert.deepEqual(await postgres.exited, { expected: true, reason: 'stopped' })
    await untilGone(below)
  })

  test('a second start on the same data directory is refused and names the first process', async () => {
    const dataDir = newDataDir('twice')
    const { parent, below } = await startParent(dataDir)
    await assert.rejects(startEmbeddedPostgres({ dataDir, log: silent }), (error) => {
      assert.ok(error instanceof EmbeddedPostgresError)
      assert.equal(
        error.message,
        `The data directory ${dataDir} (HOLDFAST_DATA_DIR) is in use by another Holdfast process (pid ${parent.pid}).`,
      )
      return true
    })
    kill(parent.pid!)
    await untilGone(below)
  })

  test('kill -9 of the parent leaves no process and keeps the committed row', async () => {
    const dataDir = newDataDir('parent-killed')
    const { parent, below } = await startParent(dataDir)
    kill(parent.pid!)
    await untilGone(below)
    assert.equal(await withPostgres(dataDir, readRow), 'committed')
  })

  test('a start right after kill -9 of the parent waits for the old PostgreSQL', async () => {
    const dataDir = newDataDir('at-once')
    const { parent } = await startParent(dataDir)
    kill(parent.pid!)
    assert.equal(await withPostgres(dataDir, readRow), 'committed')
  })

  test('kill -9 of all processes loses no committed row', async () => {
    const dataDir = newDataDir('all-killed')
    const { parent, below } = await startParent(dataDir)
    kill(parent.pid!, ...below)
    assert.equal(await withPostgres(dataDir, readRow), 'committed')
    await untilGone(below)
  })

  test('an orphaned PostgreSQL is stopped by the next start', async () => {
    const dataDir = newDataDir('orphan')
    const { parent, below } = await startParent(dataDir)
    kill(...below.filter(isShell), parent.pid!)
    await sleep(300)
    assert.ok(below.some(isAlive), 'the orphan lives')
    assert.equal(await withPostgres(dataDir, readRow), 'committed')
    await untilGone(below)
  })

  test('a killed postmaster is restarted under the same address', async () => {
    const dataDir = newDataDir('revived')
    const warnings: string[] = []
    const log = { info() {}, warn: (message: string) => warnings.push(message) }
    const postgres = await startEmbeddedPostgres({ dataDir, log })
    await withClient(postgres.connectionString, writeRow)
    kill(Number.parseInt(readFileSync(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8'), 10))
    const deadline = performance.now() + 30_000
    const again = () => withClient(postgres.connectionString, readRow).catch(() => undefined)
    while (warnings.length === 0 || (await again()) !== 'committed') {
      assert.ok(performance.now() < deadline, 'writes are back within 30 s')
      await sleep(50)
    }
    await postgres.stop()
    assert.equal((await postgres.exited).expected, true)
  })

  test('a pid file that names another process does not prevent the start', async () => {
    const dataDir = newDataDir('stale-pid')
    await withPostgres(dataDir, writeRow)
    const cluster = join(dataDir, 'postgres', 'cluster')
    const { uid, gid } = statSync(cluster)
    const other = spawn('sleep', ['60'], { uid, gid })
    try {
      const lines = [
        other.pid,
        cluster,
        '1700000000',
        '5432',
        join(dataDir, 'postgres', 'socket'),
        '',
        '  1  1',
        'ready',
      ]
      writeFileSync(join(cluster, 'postmaster.pid'), `${lines.join('\n')}\n`)
      writeFileSync(join(dataDir, 'postgres', 'socket', '.s.PGSQL.5432.lock'), `${lines.join('\n')}\n`)
      assert.equal(await withPostgres(dataDir, readRow), 'committed')
    } finally {
      other.kill()
    }
  })

  test('an interrupted first start leaves no partial database', async () => {
    const dataDir = join(scratch, 'half-made')
    mkdirSync(join(dataDir, 'postgres', 'cluster.new', 'base'), { recursive: true })
    writeFileSync(join(dataDir, 'postgres', 'cluster.new', 'PG_VERSION'), '18\n')
    await withPostgres(dataDir, writeRow)
  })

  test('the path may have spaces, commas and quotes, and be longer than a socket address', async () => {
    const folders = Array.from({ length: 12 }, (_, index) => `a-rather-long-folder-${index}`)
    const dataDir = join(scratch, `a b, c'd %20 ü`, ...folders)
    await withPostgres(dataDir, writeRow)
    assert.equal(await withPostgres(dataDir, readRow), 'committed')
  })

  test('root places the database elsewhere if only root can enter the folder', { skip: !isRoot }, async () => {
    const closed = join(scratch, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    const dataDir = join(closed, 'data')
    await withPostgres(dataDir, writeRow)
    const location = readFileSync(join(dataDir, 'postgres-location'), 'utf8').trim()
    try {
      assert.equal(await withPostgres(dataDir, readRow), 'committed')
      assert.ok(existsSync(join(location, 'cluster', 'PG_VERSION')))
      rmSync(location, { recursive: true })
      await assert.rejects(startEmbeddedPostgres({ dataDir, log: silent }), {
        message: `The database of ${dataDir} was stored in ${location}, which no longer exists.`,
      })
    } finally {
      rmSync(location, { recursive: true, force: true })
    }
  })

  test('a read-only folder is refused with a clear error', { skip: isRoot }, async () => {
    const readOnly = join(scratch, 'read-only')
    mkdirSync(readOnly, { mode: 0o500 })
    await assert.rejects(startEmbeddedPostgres({ dataDir: join(readOnly, 'data'), log: silent }), {
      name: 'EmbeddedPostgresError',
      message:
        /^The data directory .*read-only\/data \(HOLDFAST_DATA_DIR\) cannot be used: EACCES: permission denied, .*\.$/,
    })
  })
})
