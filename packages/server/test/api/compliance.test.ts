import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { canonicalJson } from '@holdfast/crypto'
import { changeRetention } from '@holdfast/sdk'
import pg from 'pg'
import { decodeId } from '../../src/kernel/ids.ts'
import { type Kit, runJob, startKit, times } from '../kit.ts'
import { makeTenant } from '../tenants.ts'

async function connect(kit: Kit) {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  kit.after(() => client.end())
  return client
}
type Owner = Awaited<ReturnType<typeof connect>>
const first = async <T>(owner: Owner, text: string, values: unknown[] = []): Promise<T> =>
  (await owner.query(text, values)).rows[0]?.value as T
const count = (owner: Owner, table: string, condition = 'true') =>
  first<number>(owner, `select count(*)::int as value from ${table} where ${condition}`)
/** A day later, as far as what was set lately is concerned. */
const settle = (owner: Owner) => owner.query(`update retention_settings set settles_at = now() - interval '1 second'`)
const forget = (kit: Kit, i = 0) => runJob(kit.replicas[i]!.app, 'forget_what_is_over')
const statusOf = async (client: Kit['admin'], name: string) =>
  (await client.getRetention()).classes.find((c) => c.class === name) ?? assert.fail(name)
const purgesOf = async (client: Kit['admin'], name: string) =>
  (await client.listAuditEvents({ query: { kind: 'retention.purged' } })).items.filter((e) => e.class === name)

const telemetry = (owner: Owner, tenant: string, daysAgo: number, rows: number, device = crypto.randomUUID()) =>
  owner.query(
    `insert into telemetry_events (tenant_id, at, device_id, event_id, kind)
     select $1, now() - make_interval(days => $2), $3, 'event-' || $2 || '-' || i, 'connected' from generate_series(1, $4) as i`,
    [tenant, daysAgo, device, rows],
  )

test('a tenant keeps for less than the deployment, from a day after it said so; another one as before', async (t) => {
  const kit = await startKit(t)
  const owner = await connect(kit)
  const other = await makeTenant(kit, 'acme')
  const tenants = [kit.tenant, other.id]
  await owner.query(`call ensure_partitions(now() - interval '1 month')`)
  for (const tenant of tenants) for (const days of [5, 20]) await telemetry(owner, tenant, days, 1200)
  const left = (tenant: string) => count(owner, 'telemetry_events', `tenant_id = '${tenant}'`)

  const before = await kit.admin.getRetention()
  const standing = Object.fromEntries(before.classes.map((c) => [c.class, c.days]))
  assert.deepEqual(standing, {
    ...{ audit: null, vpn_sessions: 90, telemetry: 30, metering: 400, admin_sessions: 30, notifications: 180 },
    ...{ policy: 30, enrollment_tokens: 90, revoked_devices: 90 },
  })
  await assert.rejects(changeRetention(kit.admin, { telemetry: 31 }), /days\.telemetry.*30/)
  await assert.rejects(changeRetention(kit.admin, { telemetry: 6 }), /days\.telemetry/)
  await assert.rejects(changeRetention(kit.admin, { audit: 29 }), /days\.audit/)
  await changeRetention(kit.admin, { telemetry: 10 })
  await changeRetention(kit.admin, { telemetry: 10 })
  const { items: said } = await kit.admin.listAuditEvents({ query: { kind: 'retention.updated' } })
  assert.deepEqual(
    said.map((e) => e.changes),
    [{ telemetry: [null, 10] }],
  )
  assert.equal((await statusOf(other.client, 'telemetry')).days, 30)

  await forget(kit)
  assert.equal(await left(kit.tenant), 2400, 'nothing goes on the day of the change')
  await settle(owner)
  const due = await statusOf(kit.admin, 'telemetry')
  assert.deepEqual(
    [due.days, due.source, due.rows, due.rows_are, due.max_days, due.last_purge],
    [10, 'tenant', 2400, 'counted', 30, null],
  )
  await forget(kit)
  await forget(kit)
  assert.deepEqual(await Promise.all(tenants.map(left)), [1200, 2400])
  const status = await statusOf(kit.admin, 'telemetry')
  assert.deepEqual([status.rows, status.last_purge?.count], [1200, 1200])
  assert.equal(status.oldest?.slice(0, 10), new Date(Date.now() - 5 * 86_400_000).toISOString().slice(0, 10))
  const purged = await purgesOf(kit.admin, 'telemetry')
  assert.deepEqual(
    purged.map((e) => e.count),
    [1200],
    'what went is on record once',
  )
  assert.deepEqual(await purgesOf(other.client, 'telemetry'), [])
})

test('nothing goes that a hold covers: of everybody, of one user, of one device, in a month that is over', async (t) => {
  const kit = await startKit(t)
  const owner = await connect(kit)
  const other = await makeTenant(kit, 'acme')
  const held = (await kit.admin.listUsers()).items[0]!
  const user = decodeId('user', held.user_id)
  await owner.query(`insert into admin_sessions (tenant_id, session_id, user_id, secret_digest, auth_method, started_at,
      last_seen_at, idle_seconds, expires_at, ended_at, end_reason)
    select u.tenant_id, gen_random_uuid(), u.user_id, decode(md5(u.user_id::text || i), 'hex'), 'password',
      now() - interval '40 days', now(), 60, now(), now() - interval '40 days', 'timeout'
    from users u, generate_series(1, 3) as i`)
  for (const months of [3, 2]) await owner.query(`call ensure_partitions(now() - interval '${months} months')`)
  for (const tenant of [kit.tenant, other.id]) await telemetry(owner, tenant, 90, 10)
  const place = (body: object) =>
    kit.admin.changeLegalHold({ body: { operation: 'place', reason: 'proceedings 12-34', ...body } })
  const release = (legal_hold_id: string) =>
    kit.admin.changeLegalHold({ body: { operation: 'release', reason: 'settled', legal_hold_id } })

  const ofAll = await place({})
  assert.deepEqual([ofAll.changed, ofAll.legal_hold.classes, ofAll.legal_hold.reason], [true, [], 'proceedings 12-34'])
  const mine = `tenant_id = '${kit.tenant}'`
  const theirs = `tenant_id = '${other.id}'`
  await forget(kit)
  await runJob(kit.app, 'drop_old_months')
  assert.equal(await count(owner, 'admin_sessions', `${mine} and ended_at < now() - interval '30 days'`), 3)
  assert.equal(await count(owner, 'admin_sessions', `${theirs} and ended_at < now() - interval '30 days'`), 0)
  assert.equal(await count(owner, 'telemetry_events', mine), 10, 'the month stays')
  assert.equal(await count(owner, 'telemetry_events', theirs), 0, 'and what nobody holds goes out of it')
  const status = await statusOf(kit.admin, 'telemetry')
  assert.deepEqual([status.legal_hold, status.next_purge], ['all', null])

  const ofOne = await place({ user_id: held.user_id, classes: ['admin_sessions'] })
  assert.equal(ofOne.legal_hold.subject_name, held.username)
  const [again, twice] = [await release(ofAll.legal_hold.legal_hold_id), await release(ofAll.legal_hold.legal_hold_id)]
  assert.deepEqual([again.changed, twice.changed], [true, false])
  await owner.query(
    `insert into admin_sessions select tenant_id, gen_random_uuid(), gen_random_uuid(), decode(md5('x'), 'hex'), auth_method,
       started_at, last_seen_at, idle_seconds, expires_at, source_ip, user_agent, ended_at, end_reason from admin_sessions
     where false`,
  )
  await forget(kit)
  const dropped = await runJob(kit.app, 'drop_old_months')
  assert.ok(dropped > 0)
  assert.equal(await count(owner, 'telemetry_events', mine), 0)
  assert.equal(await count(owner, 'admin_sessions', `user_id = '${user}' and ended_at < now() - interval '30 days'`), 3)
  assert.equal((await statusOf(kit.admin, 'admin_sessions')).legal_hold, 'partial')
  await forget(kit)
  const [month] = await purgesOf(kit.admin, 'telemetry')
  assert.ok(month?.months?.length === 1 && month.count === 0, JSON.stringify(month))
  await release(ofOne.legal_hold.legal_hold_id)
  await forget(kit)
  assert.equal(await count(owner, 'admin_sessions', `user_id = '${user}' and ended_at < now() - interval '30 days'`), 0)

  const kinds = (await kit.admin.listAuditEvents({ query: { kind: 'legal_hold.changed' } })).items
  assert.deepEqual(kinds.map((e) => e.operation).reverse(), ['place', 'place', 'release', 'release'])
  const { items } = await kit.admin.listLegalHolds()
  assert.deepEqual(
    items.map((h) => [h.legal_hold_id, h.release_reason]),
    [ofOne, ofAll].map((h) => [h.legal_hold.legal_hold_id, 'settled']),
  )
  assert.deepEqual((await other.client.listLegalHolds()).items, [])
  await assert.rejects(place({ user_id: held.user_id, device_id: 'dev_01jxz3c9dqf7vr2m8k4s6t0b5w' }), /device_id/)
  await assert.rejects(place({ device_id: 'dev_01jxz3c9dqf7vr2m8k4s6t0b5w' }), /no such device/)
})

test('a hold waits for the purge that runs, and the next purge knows of it', async (t) => {
  const kit = await startKit(t)
  const purging = await connect(kit)
  await purging.query('begin; select admit_purge()')
  let placed = false
  const placing = kit.admin
    .changeLegalHold({ body: { operation: 'place', reason: 'proceedings 12-34' } })
    .then(() => (placed = true))
  const owner = await connect(kit)
  while ((await count(owner, 'pg_locks', `locktype = 'advisory' and objid = 7264490 and not granted`)) === 0);
  assert.equal(placed, false)
  assert.equal(await count(purging, 'legal_holds'), 0)
  await purging.query('commit')
  await placing
  assert.equal(await first(purging, `select is_on_hold('${kit.tenant}') as value`), true)
})

test('the record goes from its beginning only, and what is left is verified from the cut', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const owner = await connect(kit)
  await times(30, (i) => kit.admin.createGatewayPool({ body: { name: `pool-${i}`, region: { code: 'eu' } } }))
  const event = async () =>
    (await kit.admin.listAuditEvents({ query: { limit: 200 } })).items.toSorted((a, b) => a.seq - b.seq)
  const all = await event()
  /** Places up to `seq` were given long ago, but for one in between. */
  const age = async (seq: number, but = 0) => {
    await owner.query('set session_replication_role = replica')
    await owner.query(
      `update audit_log set sequenced_at = now() - interval '400 days' where tenant_id = $1 and seq <= $2 and seq <> $3`,
      [kit.tenant, seq, but],
    )
    await owner.query('set session_replication_role = default')
  }
  await age(20, 12)
  await forget(kit)
  assert.equal((await event())[0]?.seq, 1, 'where nothing is set, the record is kept for good')
  await changeRetention(kit.admin, { audit: 365 })
  await settle(owner)
  const { legal_hold } = await kit.admin.changeLegalHold({
    body: { operation: 'place', reason: 'proceedings 12-34', classes: ['audit'] },
  })
  await forget(kit)
  assert.equal((await event())[0]?.seq, 1, 'a hold')
  await kit.admin.changeLegalHold({
    body: { operation: 'release', reason: 'settled', legal_hold_id: legal_hold.legal_hold_id },
  })

  await Promise.all(kit.replicas.map((_, i) => forget(kit, i)))
  const { record_begins_after: cut } = await kit.admin.getRetention()
  assert.deepEqual(
    [cut?.seq, cut?.hash, cut?.kept_days],
    [11, all[10]?.hash, 365],
    'one that is younger ends the purge',
  )
  let before = cut!.hash
  const left = await event()
  assert.equal(left[0]?.seq, 12)
  for (const { seq, hash, ...rest } of left) {
    const place = Buffer.alloc(8)
    place.writeBigUInt64BE(BigInt(seq))
    const text = Buffer.concat([Buffer.of(0), Buffer.from(before, 'hex'), place, Buffer.from(canonicalJson(rest))])
    assert.equal(hash, createHash('sha256').update(text).digest('hex'), `place ${seq}`)
    before = hash
  }
  const [purged, ...others] = await purgesOf(kit.admin, 'audit')
  assert.deepEqual([purged?.count, purged?.up_to_seq, others.length], [11, 11, 0])

  await assert.rejects(owner.query('delete from audit_log where seq = 12'), /append-only/)
  await assert.rejects(owner.query('update audit_log set record = record where seq = 12'), /append-only/)
  const asApplication = (text: string) =>
    owner
      .query('begin; set local role holdfast_app')
      .then(() => owner.query(text))
      .finally(() => owner.query('rollback'))
  await assert.rejects(asApplication(`insert into audit_purges select * from audit_purges`), /permission denied/)
  await assert.rejects(asApplication('delete from audit_log where seq = 12'), /permission denied/)
  // Whatever the application asks for, a month of the record stays.
  const asked = await kit.db.inTenant(kit.tenant, async (tx) => {
    const { sql } = await import('kysely')
    await sql`update retention_settings set days = '{"audit": 0}'`.execute(tx)
    return (await sql<{ n: number }>`select purge_audit(0, 0, 1000) as n`.execute(tx)).rows[0]?.n
  })
  assert.equal(asked, 0, 'place 12 is young')

  await age(20)
  await forget(kit, 1)
  assert.equal((await event())[0]?.seq, 21)
  assert.equal(await count(owner, 'audit_purges'), 1, 'one row a day says it')
})

test('a clock that leapt or is off purges nothing until it has run on', async (t) => {
  const kit = await startKit(t)
  const owner = await connect(kit)
  const old = () => count(owner, 'admin_sessions', `ended_at < now() - interval '30 days'`)
  await owner.query(`insert into admin_sessions (tenant_id, session_id, user_id, secret_digest, auth_method, started_at,
      last_seen_at, idle_seconds, expires_at, ended_at, end_reason)
    select u.tenant_id, gen_random_uuid(), u.user_id, decode(md5('a'), 'hex'), 'password', now(), now(), 60, now(),
      now() - interval '40 days', 'timeout' from users u limit 1`)
  const said = async () => {
    const { clock_trusted_from: until } = await kit.admin.getRetention()
    return until === null ? 0 : Math.round((Date.parse(until) - Date.now()) / 86_400_000)
  }
  const leap = (by: string) =>
    owner.query(`insert into retention_clock values (true, now() - interval '${by}', '-infinity')
      on conflict (there_is_one) do update set seen_at = excluded.seen_at, trusted_from = excluded.trusted_from`)
  for (const [by, days] of [
    ['10 years', 30],
    ['-10 years', 30],
    ['5 days', 5],
    ['-11 minutes', 1],
  ] as const) {
    await leap(by)
    await forget(kit)
    assert.deepEqual([await old(), await said()], [1, days], by)
  }
  await owner.query(`update retention_clock set trusted_from = now() - interval '1 second'`)
  assert.equal(await first(owner, `select check_clock(now() + interval '11 minutes') > now() as value`), true)
  await forget(kit)
  assert.equal(await old(), 1, 'a replica has another time')
  await leap('-9 minutes')
  await forget(kit)
  assert.deepEqual([await old(), await said()], [0, 0])
})

test('what a purge took that was cut off goes on record with the next one, once', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const owner = await connect(kit)
  await owner.query(
    `insert into retention_purges (tenant_id, class, purged_at, up_to, unrecorded) values ($1, 'telemetry', now(), now(), 7)`,
    [kit.tenant],
  )
  await times(10, (i) => forget(kit, i % 2))
  const events = await purgesOf(kit.admin, 'telemetry')
  assert.deepEqual(
    events.map((e) => e.count),
    [7],
  )
  assert.equal((await statusOf(kit.admin, 'telemetry')).last_purge?.count, 7)
})
