import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { exampleId } from '@holdfast/contract/schema'
import { sql } from 'kysely'
import { audited, enroll, newSession, refused, report, withGateway } from '../support/actors/gateways.ts'
import { runJob, startKit, times } from '../support/deployment/deployment.ts'
import { listenedFor } from '../support/domain/connection-reports.ts'

test('VPN sessions', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin } = kit
  const { client, pool } = await withGateway(kit)
  const devices = await times(3, (i) => enroll(kit, `device ${i}`))
  const start = async (...which: number[]) => {
    const samples = which.map((i) => ({
      session_id: newSession(),
      device_id: devices[i]!.id,
      state: 'active',
      rx_bytes: 1,
      tx_bytes: 1,
      started_at: new Date(Date.now() - 1000 * (10 - i)).toISOString(),
    }))
    await client.metering({ body: report(samples) })
    return samples.map((s) => s.session_id)
  }

  await t.test('lists are filtered, newest first, and paged', async () => {
    const [a, b, c] = await start(0, 1, 2)
    assert.deepEqual(
      (await admin.listSessions()).items.map((s) => s.session_id),
      [c, b, a],
    )
    const first = await admin.listSessions({ query: { limit: 2, sort: 'started_at' } })
    const second = await admin.listSessions({
      query: { limit: 2, sort: 'started_at', cursor: first.next_cursor! },
    })
    assert.deepEqual(
      [...first.items, ...second.items].map((s) => s.session_id),
      [a, b, c],
    )
    const one = await admin.listSessions({ query: { device_id: devices[1]!.id } })
    assert.deepEqual(
      one.items.map((s) => s.session_id),
      [b],
    )
    assert.deepEqual((await admin.listSessions({ query: { user_id: exampleId('user') } })).items, [])
    assert.deepEqual((await admin.listSessions({ query: { state: 'ended' } })).items, [])
  })
  await t.test('terminating by id says what it matched, stays, and is recorded once', async () => {
    const [id] = await start(0)
    const body = { operation: 'terminate' as const, session_ids: [id!, newSession(), 'vse_x'], reason: 'lost laptop' }
    const { block_until, ...counts } = await admin.terminateSessions({ body })
    assert.deepEqual(counts, { matched: 1, terminated: 1 })
    assert.ok(Math.abs(Date.parse(block_until!) - Date.now() - 300_000) < 10_000, 'five minutes unless said')
    assert.deepEqual(await admin.terminateSessions({ body }), { matched: 1, terminated: 0, block_until: null })
    await client.metering({
      body: report([{ session_id: id, device_id: devices[0]!.id, state: 'active', rx_bytes: 5, tx_bytes: 5 }]),
    })
    const session = await admin.getSession({ params: { session_id: id! } })
    assert.deepEqual([session.state, session.end_reason, session.rx_bytes], ['ended', 'admin', 6])
    assert.equal(session.block_until, block_until)
    const events = await audited(kit, 'vpn_session.terminated')
    assert.equal(events.length, 1)
    const { session_ids, reason } = events[0] as { session_ids?: string[]; reason?: string }
    assert.deepEqual([session_ids, reason], [[id], 'lost laptop'])
  })
  await t.test('terminating by filter, which must name something', async () => {
    const terminate = (body: object) =>
      admin.terminateSessions({ body: { operation: 'terminate', block_seconds: 0, ...body } })
    await start(1, 2)
    await assert.rejects(terminate({}), refused(422, /session_ids/))
    await assert.rejects(terminate({ filter: {} }), refused(422, /filter/))
    await assert.rejects(terminate({ filter: { pool_id: pool.pool_id }, session_ids: [] }), refused(422))
    assert.deepEqual(await terminate({ filter: { pool_id: exampleId('gateway_pool') } }), {
      matched: 0,
      terminated: 0,
      block_until: null,
    })
    const none = { matched: 2, terminated: 2, block_until: null }
    assert.deepEqual(await terminate({ filter: { pool_id: pool.pool_id } }), none)
    for (const block_seconds of [-1, 3601, 1.5])
      await assert.rejects(terminate({ session_ids: [], block_seconds }), refused(422, /block_seconds/))
  })
  await t.test('another tenant has no such session', async () => {
    const [id] = await start(2)
    const other = await kit.as('tenant_admin', await kit.newTenant())
    await assert.rejects(other.getSession({ params: { session_id: id! } }), refused(404))
    const body = { operation: 'terminate' as const, session_ids: [id!] }
    assert.deepEqual(await other.terminateSessions({ body }), { matched: 0, terminated: 0, block_until: null })
    assert.equal((await admin.getSession({ params: { session_id: id! } })).state, 'active')
  })
  await t.test('suspending a device ends its sessions, and none opens while it is suspended', async () => {
    const [id] = await start(1)
    await admin.changeDevice({ body: { operation: 'suspend', device_id: devices[1]!.id } })
    const session = await admin.getSession({ params: { session_id: id! } })
    assert.deepEqual([session.state, session.end_reason], ['ended', 'suspended'])
    const [late] = await start(1)
    const refusedOne = await admin.getSession({ params: { session_id: late! } })
    assert.deepEqual([refusedOne.state, refusedOne.end_reason], ['ended', 'suspended'])
  })
  await t.test('a session that nobody reports any more ends by itself', async () => {
    const [id] = await start(2)
    await listenedFor(kit, 3600)
    assert.equal(await runJob(kit.app, 'end_silent_vpn_sessions'), 0)
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`update vpn_sessions set last_seen_at = last_seen_at - interval '16 minutes' where session_id in (
        select session_id from vpn_sessions where device_id is not null and state = 'active')`.execute(tx),
    )
    const stateOf = async () => (await admin.getSession({ params: { session_id: id! } })).state
    // The deployment did not listen for two minutes of this quarter of an hour. On every replica, gateways get a full
    // quarter.
    await listenedFor(kit, 3600, 120)
    for (const { app } of kit.replicas) assert.equal(await runJob(app, 'end_silent_vpn_sessions'), 0)
    await listenedFor(kit, 899)
    await times(4, (i) => runJob(kit.replicas[i % kit.replicas.length]!.app, 'end_silent_vpn_sessions'))
    assert.equal(await stateOf(), 'active')
    // After the clock was set back, earlier times do not count.
    await listenedFor(kit, 3600, -3600)
    assert.equal(await runJob(kit.app, 'end_silent_vpn_sessions'), 0)
    await listenedFor(kit, 3600, 60)
    assert.ok((await runJob(kit.app, 'end_silent_vpn_sessions')) >= 1)
    assert.equal((await admin.getSession({ params: { session_id: id! } })).end_reason, 'timeout')
  })
})
