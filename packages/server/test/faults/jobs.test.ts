// Own process: it sends statements that are not to be judged.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { startJobs } from '../../src/jobs/runner.ts'
import { createNetwork } from '../support/database/network-faults.ts'
import { createTestDatabase } from '../support/database/test-database.ts'

const quiet = { info() {}, warn() {}, error() {} }

test('a job never overlaps with itself, on any number of replicas', async (t) => {
  const database = await createTestDatabase()
  const owner = new pg.Client({ connectionString: database.url })
  await owner.connect()
  let running = 0
  let most = 0
  let runs = 0
  const run = async () => {
    runs++
    most = Math.max(most, ++running)
    await delay(150)
    running--
  }
  const jobs = [{ name: 'slow', cron: '0 0 1 1 *', run }]
  const runners = []
  for (let i = 0; i < 2; i++) runners.push(await startJobs(database.url, jobs, quiet))
  for (let i = 0; i < 8; i++) await owner.query("select graphile_worker.add_job('slow')")
  const left = async () => Number((await owner.query('select count(*) as n from graphile_worker.jobs')).rows[0].n)
  while ((await left()) > 0) await delay(20)
  await Promise.all(runners.map((runner) => runner.stop()))
  await owner.end()
  await database.drop()
  t.diagnostic(`8 asked for, ${runs} run, ${most} at once`)
  assert.ok(runs >= 1)
  assert.equal(most, 1)
})

test('jobs survive a database outage at their end, and run again afterwards', async (t) => {
  const database = await createTestDatabase()
  const owner = new pg.Client({ connectionString: database.url })
  await owner.connect()
  const network = await createNetwork(t, database.url)
  let runs = 0
  let left = 0
  const leave = () => {
    network.refuse(true)
    network.cut()
    left++
  }
  const jobs = [
    { name: 'counts', cron: '0 0 1 1 *', run: async () => ++runs },
    { name: 'fails', cron: '0 0 1 1 *', run: async () => assert.fail(`${leave()}`) },
    { name: 'succeeds', cron: '0 0 1 1 *', run: async () => leave() },
  ]
  network.refuse(true)
  const runner = await startJobs(network.url, jobs, quiet)
  await delay(500)
  network.refuse(false)
  const until = async (wanted: number) => {
    while (runs < wanted) {
      await owner.query("select graphile_worker.add_job('counts', job_key := 'counts')").catch(() => {})
      await delay(200)
    }
  }
  await until(1)
  for (const [i, name] of ['fails', 'succeeds'].entries()) {
    await owner.query('select graphile_worker.add_job($1, max_attempts := 1)', [name])
    while (left === i) await delay(20)
    await delay(500)
    network.refuse(false)
    await until(runs + 1)
  }
  await runner.stop()
  await owner.end()
  await database.drop()
})
