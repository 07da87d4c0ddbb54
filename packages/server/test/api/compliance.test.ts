import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeRetention } from '@holdfast/sdk'
import { configureKept } from '../../src/db/kept.ts'
import {
  addEndedSessions,
  addTelemetry,
  ask,
  connectOwner,
  count,
  forget,
  placeHold,
  purgesOf,
  releaseHold,
  settle,
  statusOf,
} from '../support/database/retention.ts'
import { runJob, startKit, times } from '../support/deployment/deployment.ts'
import { makeTenant } from '../support/deployment/tenants.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const standard = { audit: null, vpn_sessions: 90, telemetry: 30, metering: 400, revoked_devices: 90 }
const others = { admin_sessions: 30, notifications: 180, policy: 30, enrollment_tokens: 90 }

test('a tenant keeps for less than the deployment, from a day after it said so; another one as before', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  const other = await makeTenant(kit, 'acme')
  const tenants = [kit.tenant, other.id]
  for (const tenant of tenants) for (const days of [5, 20]) await addTelemetry(owner, tenant, days, 1200)
  const left = (tenant: string) => count(owner, 'telemetry_events', `tenant_id = '${tenant}'`)

  const before = await kit.admin.getRetention()
  assert.deepEqual(Object.fromEntries(before.classes.map((c) => [c.class, c.days])), { ...standard, ...others })
  await assert.rejects(changeRetention(kit.admin, { telemetry: 31 }), /days\.telemetry.*30/)
  await assert.rejects(changeRetention(kit.admin, { telemetry: 6 }), /days\.telemetry/)
  await assert.rejects(changeRetention(kit.admin, { audit: 29 }), /days\.audit/)

  const tried = await changeRetention(kit.admin, { telemetry: 10 }, { dry_run: true })
  const shorter = tried.classes.find((c) => c.class === 'telemetry')
  assert.deepEqual([shorter?.days, shorter?.over, tried.settles_at], [10, 1200, null])
  assert.deepEqual((await kit.admin.getRetention()).days, before.days, 'a trial changes nothing')
  assert.deepEqual(await eventsOf(kit, 'retention.updated'), [])

  await changeRetention(kit.admin, { telemetry: 10 })
  await changeRetention(kit.admin, { telemetry: 10 })
  const said = await eventsOf(kit, 'retention.updated')
  assert.deepEqual(
    said.map((e) => e.changes),
    [{ 'days.telemetry': [null, 10] }],
  )
  assert.equal((await statusOf(other.client, 'telemetry')).days, 30)

  await forget(kit)
  assert.equal(await left(kit.tenant), 2400, 'nothing goes on the day of the change')
  const { settles_at } = await kit.admin.getRetention()
  assert.ok(Math.abs(Date.parse(settles_at ?? '') - Date.now() - 86_400_000) < 60_000)
  await settle(owner)
  await changeRetention(kit.admin, { telemetry: 12 })
  assert.equal((await kit.admin.getRetention()).settles_at, null, 'what is kept for longer has nothing to wait for')
  const due = await statusOf(kit.admin, 'telemetry')
  assert.deepEqual(
    [due.days, due.source, due.rows, due.rows_are, due.over, due.max_days, due.last_purge],
    [12, 'tenant', 2400, 'counted', 1200, 30, null],
  )
  await forget(kit)
  await forget(kit)
  assert.deepEqual(await Promise.all(tenants.map(left)), [1200, 2400])
  const status = await statusOf(kit.admin, 'telemetry')
  assert.deepEqual([status.rows, status.over, status.last_purge?.count], [1200, 0, 1200])
  assert.equal(status.oldest?.slice(0, 10), new Date(Date.now() - 5 * 86_400_000).toISOString().slice(0, 10))
  assert.deepEqual(
    (await purgesOf(kit.admin, 'telemetry')).map((e) => e.count),
    [1200],
    'what went is on record once',
  )
  assert.deepEqual(await purgesOf(other.client, 'telemetry'), [])
})

test('days are set whatever it takes to measure what follows', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  const { days } = await kit.admin.getRetention()
  await owner.query('alter function measure_kept(text) rename to measure')
  await assert.rejects(kit.admin.updateRetention({ body: { days: { ...days, telemetry: 10 } } }))
  await owner.query('alter function measure(text) rename to measure_kept')
  assert.equal((await kit.admin.getRetention()).days.telemetry, 10)
})

test('what the deployment is configured to keep binds all; what it shortens waits a day', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  await addTelemetry(owner, kit.tenant, 100, 10)
  await changeRetention(kit.admin, { telemetry: 20 })
  await settle(owner)
  await changeRetention(kit.admin, { telemetry: null })
  await configureKept(kit.databaseUrl, { ...standard, telemetry: 200, audit: 365 })
  const drop = async () => {
    await runJob(kit.app, 'drop_old_months')
    return 10 - (await count(owner, 'telemetry_events'))
  }
  assert.equal(await drop(), 0)
  assert.deepEqual(
    await Promise.all(['telemetry', 'audit'].map(async (c) => Object.values(await statusOf(kit.admin, c)).slice(1, 5))),
    [
      [200, 'deployment', 7, 200],
      [365, 'deployment', 30, 365],
    ],
  )
  await configureKept(kit.databaseUrl, { ...standard, telemetry: 30 })
  assert.equal(await drop(), 0, 'not on the day of the start')
  await configureKept(kit.databaseUrl, { ...standard, telemetry: 30 })
  await settle(owner)
  assert.equal(await drop(), 10)
  await forget(kit)
  const [month] = await purgesOf(kit.admin, 'telemetry')
  assert.deepEqual([month?.months?.length, month?.count], [1, 0])
})

test('nothing goes that a hold covers: of everybody, of one user, of one device, in a month that is over', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  const other = await makeTenant(kit, 'acme')
  const { user_id, username } = (await kit.admin.listUsers()).items[0]!
  await addEndedSessions(owner, 40, 3)
  for (const tenant of [kit.tenant, other.id]) await addTelemetry(owner, tenant, 90, 10)
  const mine = `tenant_id = '${kit.tenant}'`
  const theirs = `tenant_id = '${other.id}'`
  const oldSessions = (condition: string) =>
    count(owner, 'admin_sessions', `${condition} and ended_at < now() - interval '30 days'`)

  const ofAll = await placeHold(kit.admin)
  assert.deepEqual([ofAll.classes, ofAll.reason, ofAll.subject_name], [[], 'proceedings 12-34', null])
  await forget(kit)
  await runJob(kit.app, 'drop_old_months')
  assert.deepEqual([await oldSessions(mine), await oldSessions(theirs)], [3, 0])
  assert.equal(await count(owner, 'telemetry_events', mine), 10, 'the month stays')
  assert.equal(await count(owner, 'telemetry_events', theirs), 0, 'and what nobody holds goes out of it')
  const status = await statusOf(kit.admin, 'telemetry')
  assert.deepEqual([status.legal_hold, status.next_purge, status.over], ['all', null, 0])

  const ofOne = await placeHold(kit.admin, { user_id, classes: ['admin_sessions'] })
  assert.equal(ofOne.subject_name, username)
  assert.equal((await releaseHold(kit.admin, ofAll.legal_hold_id)).changed, true)
  assert.equal((await releaseHold(kit.admin, ofAll.legal_hold_id)).changed, false)
  await runJob(kit.app, 'drop_old_months')
  assert.equal(await count(owner, 'telemetry_events', mine), 10, 'a release can be put right for a day')
  await settle(owner)
  assert.ok((await runJob(kit.app, 'drop_old_months')) > 0)
  await forget(kit)
  assert.equal(await count(owner, 'telemetry_events', mine), 0)
  assert.equal(await oldSessions(mine), 3)
  assert.equal((await statusOf(kit.admin, 'admin_sessions')).legal_hold, 'partial')
  await releaseHold(kit.admin, ofOne.legal_hold_id)
  await settle(owner)
  await forget(kit)
  assert.equal(await oldSessions(mine), 0)

  for (const kind of ['legal_hold.placed', 'legal_hold.released'] as const) {
    const events = await eventsOf(kit, kind)
    assert.deepEqual(
      events.map((e) => e.legal_hold_id),
      [ofOne, ofAll].map((h) => h.legal_hold_id),
    )
  }
  const { items } = await kit.admin.listLegalHolds()
  assert.deepEqual(
    items.map((h) => [h.legal_hold_id, h.release_reason]),
    [ofOne, ofAll].map((h) => [h.legal_hold_id, 'settled']),
  )
  assert.deepEqual((await other.client.listLegalHolds()).items, [])
  const nobody = 'dev_01jxz3c9dqf7vr2m8k4s6t0b5w'
  await assert.rejects(placeHold(kit.admin, { user_id, device_id: nobody }), /device_id/)
  await assert.rejects(placeHold(kit.admin, { device_id: nobody }), /no such device/)
})

test('twenty on two replicas: one places the last hold there may be, one releases it', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const owner = await connectOwner(kit)
  await owner.query(
    `insert into legal_holds (tenant_id, legal_hold_id, reason, placed_at, placed_by_type)
     select $1, gen_random_uuid(), 'before', now(), 'user' from generate_series(1, 999)`,
    [kit.tenant],
  )
  const admins = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const placed = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => placeHold(admins[i % 2]!)))
  const made = placed.flatMap((p) => (p.status === 'fulfilled' ? [p.value] : []))
  assert.equal(made.length, 1)
  const released = await times(20, (i) => releaseHold(admins[i % 2]!, made[0]!.legal_hold_id))
  assert.equal(released.filter((r) => r.changed).length, 1)
})

test('a clock that leapt or is off purges nothing until it has run on', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  const old = () => count(owner, 'admin_sessions', `ended_at < now() - interval '30 days'`)
  await addEndedSessions(owner, 40, 1)
  const before = await old()
  const said = async () => {
    const { clock_trusted_from: until } = await kit.admin.getRetention()
    return until === null ? 0 : Math.round((Date.parse(until) - Date.now()) / 86_400_000)
  }
  const leap = (by: string, trusted = `'-infinity'`) =>
    owner.query(`insert into retention_clock values (true, now() - interval '${by}', ${trusted})
      on conflict (there_is_one) do update set seen_at = excluded.seen_at, trusted_from = excluded.trusted_from`)
  for (const [by, days] of [
    ['50 years', 30],
    ['-50 years', 30],
    ['5 days', 5],
    ['-11 minutes', 1],
  ] as const) {
    await leap(by)
    await forget(kit)
    await runJob(kit.app, 'drop_old_months')
    assert.deepEqual([await old(), await said()], [before, days], by)
  }
  await leap('1 hour', `now() + interval '50 years'`)
  await forget(kit)
  assert.equal(await said(), 30, 'a clock that was put back is not waited for')
  await owner.query(`update retention_clock set trusted_from = now() - interval '1 second'`)
  assert.equal(await ask(owner, `select check_clock(now() + interval '11 minutes') > now() as value`), true)
  await forget(kit)
  assert.equal(await old(), before, 'a replica has another time')
  await leap('-9 minutes')
  await forget(kit)
  assert.deepEqual([await old(), await said()], [0, 0])
})

test('what a purge took that was cut off goes on record with the next one, once', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const owner = await connectOwner(kit)
  await owner.query(
    `insert into retention_purges (tenant_id, class, purged_at, up_to, unrecorded)
     values ($1, 'telemetry', now(), now(), 7)`,
    [kit.tenant],
  )
  await times(10, (i) => forget(kit, i % 2))
  assert.deepEqual(
    (await purgesOf(kit.admin, 'telemetry')).map((e) => e.count),
    [7],
  )
  assert.equal((await statusOf(kit.admin, 'telemetry')).last_purge?.count, 7)
})
