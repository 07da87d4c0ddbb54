import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { createNetwork } from '../support/database/network-faults.ts'
import { password, startDeployment } from '../support/deployment/server-processes.ts'
import { promptly } from '../support/deployment/wait-until.ts'

const clean = ({ output }: { output: () => string }) => assert.doesNotMatch(output(), /unhandled|uncaught|TypeError/i)

test('a process ends with 0 when it is asked to, whatever it is doing, and only then', async (t) => {
  const { database, launch, start, firstTookMs } = await startDeployment(t)
  const network = await createNetwork(t, database.url)
  const [busy, serving, twice, cut] = await Promise.all([
    start(),
    start(database.url, { HOLDFAST_DRAIN_SECONDS: '1' }),
    start(database.url, { HOLDFAST_DRAIN_SECONDS: '30' }),
    start(network.url),
  ])

  const inJobs = async () => {
    await queueJobs(database.url)
    busy.signal()
    const { how, tookMs } = await busy.end()
    assert.equal(how, '0', busy.output())
    clean(busy)
    return `# SIGTERM while every job of the minute starts: ended with 0 after ${Math.round(tookMs)} ms`
  }

  const inFlight = async () => {
    const body = JSON.stringify({ username: 'admin', password })
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const sending = request({ port: serving.port, path: '/admin/login', method: 'POST', headers })
    const answered = once(sending, 'response')
    sending.write(body.slice(0, 10))
    await delay(200)
    serving.signal()
    await delay(300)
    sending.end(body.slice(10))
    const [answer] = await answered
    answer.resume()
    assert.deepEqual([answer.statusCode, answer.headers.connection], [200, 'close'])
    assert.equal((await serving.end()).how, '0', serving.output())
    return '# SIGTERM with a request half sent: answered 200, closed, ended with 0'
  }

  const atOnce = async () => {
    twice.signal()
    while (await twice.isReady()) await delay(20)
    assert.ok(twice.isRunning(), 'the first signal drains')
    twice.signal()
    const { how, tookMs } = await twice.end()
    assert.equal(how, '1')
    assert.ok(tookMs < promptly, `${tookMs} ms`)
    return `# a second SIGTERM: ended after ${Math.round(tookMs)} ms`
  }

  const withoutDatabase = async () => {
    for (let i = 0; i < 3; i++) {
      network.refuse(true)
      network.cut()
      await delay(700)
      network.refuse(false)
      await delay(100)
    }
    network.cut()
    const began = performance.now()
    while (!(await cut.isReady())) {
      assert.ok(cut.isRunning(), cut.output())
      await delay(25)
    }
    const readyMs = performance.now() - began
    assert.ok(readyMs < promptly, `ready again after ${readyMs} ms`)
    // A job is stuck, and the database stops answering silently during the stop.
    const locks = await connect(database.url)
    await locks.query('begin; lock table graphile_worker._private_jobs')
    while (!(await isJobWaiting(database.url))) await delay(200)
    network.hold()
    cut.signal()
    const { how, tookMs } = await cut.end()
    await locks.end()
    assert.equal(how, '0', cut.output())
    clean(cut)
    return `# its database gone three times: ready again after ${Math.round(readyMs)} ms; SIGTERM while nothing answers: ended with 0 after ${Math.round(tookMs)} ms`
  }

  const whileItStalls = async () => {
    const stalling = await createNetwork(t, database.url)
    stalling.holdAt('across_tenants')
    const starting = start(stalling.url)
    while (!stalling.isHolding()) await delay(20)
    await delay(2500)
    stalling.release()
    await goesOn(await starting)
    return '# a database that stalls for 2.5 s while a process starts: it started, ended with 0'
  }

  const beforeItMigrates = async () => {
    const away = await createNetwork(t, database.url)
    away.refuse(true)
    away.holdAt('pg_try_advisory_lock')
    const starting = start(away.url)
    await delay(1500)
    away.refuse(false)
    while (!away.isHolding()) await delay(20)
    away.cut()
    away.release()
    await goesOn(await starting)
    return '# a database that refuses, then ends the connection that migrates: the process started, ended with 0'
  }

  const beforeItStarted = async () => {
    const stalling = await createNetwork(t, database.url)
    stalling.holdAt('across_tenants')
    const early = launch(stalling.url)
    early.port.catch(() => {})
    while (!stalling.isHolding()) await delay(20)
    stalling.refuse(true)
    early.signal()
    const { how, tookMs } = await early.end()
    assert.equal(how, '0', early.output())
    clean(early)
    assert.ok(tookMs < 20_000, `${tookMs} ms`)
    return `# SIGTERM while a process starts and nothing answers: ended with 0 after ${Math.round(tookMs)} ms`
  }

  const said = await Promise.all([
    ...[inJobs(), inFlight(), atOnce(), withoutDatabase()],
    ...[whileItStalls(), beforeItMigrates(), beforeItStarted()],
  ])
  console.log(`# SIGTERM right after ready: ended with 0 after ${Math.round(firstTookMs)} ms\n${said.join('\n')}`)
})

/** Asserts that a start that waited for its database has logged this, and that its process ends normally. */
async function goesOn(late: Awaited<ReturnType<Awaited<ReturnType<typeof startDeployment>>['start']>>): Promise<void> {
  assert.match(late.output(), /^ {2}Waiting for the database: /m)
  late.signal()
  assert.equal((await late.end()).how, '0', late.output())
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

/** Queues all jobs that run every minute, at once. */
async function queueJobs(url: string): Promise<void> {
  const client = await connect(url)
  const names = ['end_idle_sessions', 'end_silent_vpn_sessions', 'expire_posture', 'revoke_silent_devices']
  for (const name of [...names, 'deliver_notifications', 'watch_gateways', 'forget_what_is_over'])
    await client.query('select graphile_worker.add_job($1)', [name])
  await client.end()
}

/** Makes the workers look for jobs. True if one waits for the locked table. */
async function isJobWaiting(url: string): Promise<boolean> {
  const client = await connect(url)
  await client.query(`select pg_notify('jobs:insert', '{"count": 9}')`)
  const { rows } = await client.query(
    `select from pg_locks join pg_stat_activity using (pid)
     where datname = current_database() and not granted and relation = 'graphile_worker._private_jobs'::regclass`,
  )
  await client.end()
  return rows.length > 0
}
