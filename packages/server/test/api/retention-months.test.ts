import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { configureKept } from '../../src/db/kept.ts'
import { ask, connectOwner, count, forget, placeHold, statusOf } from '../support/database/retention.ts'
import { runJob, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

const day = 86_400_000
const kept = Math.floor((Date.now() - Date.parse('2020-03-15')) / day)

/** A deployment that keeps rows from the middle of March 2020 on, with a telemetry row at each of these times. */
async function startAtMarch(t: TestContext, ...moments: string[]) {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  await configureKept(kit.databaseUrl, {
    audit: null,
    vpn_sessions: 90,
    telemetry: kept,
    metering: 400,
    revoked_devices: 90,
  })
  await owner.query('select check_clock(now())')
  for (const moment of moments) {
    await owner.query('call ensure_partitions($1)', [moment])
    await owner.query(
      `insert into telemetry_events (tenant_id, at, device_id, event_id, kind) values ($1, $2::text::timestamptz, $1, $2, 'connected')`,
      [kit.tenant, moment],
    )
  }
  return { kit, owner, left: () => count(owner, 'telemetry_events') }
}
const monthsOf = (table: string) => `relname ~ '^${table}_20' and relkind = 'r'`
const drop = `select drop_partitions('telemetry_events') as value`

test('what is over of a class that lies by months is what goes with them, and the next purge is when one is over', async (t) => {
  const { kit, left } = await startAtMarch(t, '2020-02-10', '2020-03-05')
  const before = await statusOf(kit.admin, 'telemetry')
  assert.equal(before.over, 1, 'March is not over')
  assert.ok(Date.parse(before.next_purge ?? '') - Date.now() <= day / 24)
  await runJob(kit.app, 'drop_old_months')
  assert.equal(await left(), 1)
  const after = await statusOf(kit.admin, 'telemetry')
  const over = Date.UTC(2020, 3, 1 + kept)
  assert.deepEqual([after.over, after.next_purge], [0, new Date(over + 600_000).toISOString()])
})

test('out of a month that a hold keeps goes what nobody holds, and no more than that is said to have gone', async (t) => {
  const { kit, owner, left } = await startAtMarch(t, '2020-02-10', '2020-03-05')
  const other = await kit.newTenant()
  await owner.query(
    `insert into legal_holds (tenant_id, legal_hold_id, reason, placed_at, placed_by_type, device_id)
     values ($1, $1, 'proceedings', now(), 'user', $1)`,
    [other],
  )
  await forget(kit)
  assert.equal(await left(), 1)
  assert.equal((await statusOf(kit.admin, 'telemetry')).last_purge?.up_to, '2020-03-01T00:00:00.000Z')
})

test('months go one by one, and a table that somebody reads for long keeps those of no other', async (t) => {
  const { kit, owner, left } = await startAtMarch(t, '2020-01-10', '2020-02-10', '2020-04-10')
  assert.deepEqual([await ask(owner, drop), await left()], [1, 3], 'December, of which there is nothing')
  assert.deepEqual([await ask(owner, drop), await left()], [1, 2])
  const reader = await connectOwner(kit)
  await reader.query('begin; select from vpn_sessions limit 1')
  await assert.rejects(runJob(kit.app, 'drop_old_months'), /lock timeout/)
  assert.equal(await left(), 1)
  const sessions = await count(owner, 'pg_class', monthsOf('vpn_sessions'))
  await reader.query('rollback')
  await runJob(kit.app, 'drop_old_months')
  assert.ok((await count(owner, 'pg_class', monthsOf('vpn_sessions'))) < sessions, 'the next time')
})

test('of a month that is dropped and a hold that is placed, whatever comes second knows of the first', async (t) => {
  const { kit, owner, left } = await startAtMarch(t, '2020-01-10', '2020-02-10')
  const dropping = await connectOwner(kit)
  assert.equal(await ask(dropping, drop), 1, 'December, of which there is nothing')
  const waits = (mode: string) =>
    until(
      async () =>
        (await ask<number>(
          owner,
          `select count(*)::int as value from pg_locks where locktype = 'advisory' and objid = 7264490 and not granted
           and mode = '${mode}' and database = (select oid from pg_database where datname = current_database())`,
        )) > 0,
    )
  await dropping.query('begin')
  assert.equal(await ask(dropping, drop), 1)
  let isPlaced = false
  const placing = placeHold(kit.admin, { classes: ['telemetry'] }).then(() => {
    isPlaced = true
  })
  await waits('ExclusiveLock')
  assert.equal(isPlaced, false)
  await dropping.query('commit')
  await placing
  assert.equal(await ask(dropping, drop), 0)
  assert.equal(await left(), 1)

  await owner.query('set session_replication_role = replica; delete from legal_holds')
  const placer = await connectOwner(kit)
  await placer.query('begin; select stop_purges()')
  await placer.query(
    `insert into legal_holds (tenant_id, legal_hold_id, reason, placed_at, placed_by_type, device_id, classes)
     values ($1, gen_random_uuid(), 'proceedings', now(), 'user', $1, '{telemetry}')`,
    [kit.tenant],
  )
  await dropping.query(`set lock_timeout = 0`)
  const dropped = ask(dropping, drop)
  await waits('ShareLock')
  await placer.query('commit')
  assert.deepEqual([await dropped, await left()], [0, 1])
})
