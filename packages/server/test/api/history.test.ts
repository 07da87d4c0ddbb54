import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openGateway } from '@holdfast/sdk'
import pg from 'pg'
import { encodeId } from '../../src/kernel/ids.ts'
import { call, deviceCaller, enrollRaw, operation } from '../support/actors/all-callers.ts'
import { type Replica, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { promptly } from '../support/deployment/wait-until.ts'

test('a session ends once, is there once, and goes with its month; a revoked device goes and its record stays', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin } = kit
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  const rows = async <R extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
    (await owner.query<R>(text, values)).rows
  const pool = await admin.createGatewayPool({ body: { name: 'pool', region: { code: 'eu' } } })
  const gateways = await times(2, async (i) => {
    const { gateway, secret } = await admin.createGateway({
      params: { pool_id: pool.pool_id },
      body: { name: `gw-${i}` },
    })
    const { dispatcher } = kit.replicas[i] as Replica
    const names = { gatewayId: gateway.gateway_id, tenantId: encodeId('tenant', kit.tenant) }
    return openGateway({ baseUrl: kit.publicUrl, secret, dispatcher, ...names })
  })
  const { secret: token } = await admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token, 'laptop')
  const sample = (session_id: string, state: 'active' | 'ended', device_id = device.id) => ({
    session_id,
    device_id,
    state,
    rx_bytes: 1,
    tx_bytes: 1,
  })
  const newId = () => encodeId('vpn_session', crypto.randomUUID())

  await t.test('of twenty who end it on two replicas one does', async () => {
    const session_id = newId()
    await gateways[0]!.meter([sample(session_id, 'active')])
    const clients = kit.replicas.map((r) => kit.clientFor(kit.adminKey, r))
    const ended = await times(20, (i) =>
      clients[i % 2]!.terminateSessions({ body: { operation: 'terminate', session_ids: [session_id] } }),
    )
    assert.equal(
      ended.reduce((n, e) => n + e.terminated, 0),
      1,
    )
    assert.deepEqual(
      await rows('select tableoid::regclass::text as place, state from vpn_sessions'),
      await rows(`select 'vpn_sessions_' || to_char(now() at time zone 'utc', 'YYYY_MM') as place, 'ended' as state`),
    )
    const late = await gateways[0]!.meter([sample(session_id, 'active')])
    assert.equal(late.accepted, 1)
    const { state, rx_bytes } = await admin.getSession({ params: { session_id } })
    assert.deepEqual([state, rx_bytes], ['ended', 2], 'what is reported late is added to what has ended')
  })

  await t.test('of two gateways that begin with one id at once one has it', async () => {
    let opened = 0
    for (let round = 0; round < 10; round++) {
      const session_id = newId()
      const states = round % 2 ? (['active', 'ended'] as const) : (['ended', 'active'] as const)
      const answers = await Promise.all(gateways.map((g, i) => g.meter([sample(session_id, states[i]!)])))
      opened += answers.reduce((n, a) => n + a.accepted, 0)
    }
    assert.equal(opened, 10)
    assert.deepEqual(await rows('select session_id from vpn_sessions group by 1 having count(*) > 1'), [])
  })

  await t.test('what is over is forgotten by the month, with the device that was revoked long ago', async () => {
    const old = crypto.randomUUID()
    const young = crypto.randomUUID()
    for (const months of [5, 3]) await owner.query(`call ensure_partitions(now() - interval '${months} months')`)
    for (const [id, months] of [
      [old, 5],
      [young, 1],
    ] as const)
      await owner.query(
        `insert into vpn_sessions select tenant_id, $1, device_id, user_id, gateway_id, pool_id, state, started_at, last_seen_at,
           now() - make_interval(months => $2), end_reason, source_ip, assigned_ip, protocol, client_version, auth_method,
           policy_digest, posture_verdict, rx_bytes, tx_bytes from vpn_sessions where state = 'ended' limit 1`,
        [id, months],
      )
    const months = () =>
      rows<{ name: string }>(
        `select relname as name from pg_class where relname ~ '^(vpn_sessions|telemetry_events|metering_reports|audit_log)_20..' and relkind = 'r' order by 1`,
      )
    const before = (await months()).length
    const sessions = async () => (await months()).filter(({ name }) => name.startsWith('vpn_sessions')).length
    const hadSessions = await sessions()
    await admin.changeDevice({ body: { operation: 'revoke', device_id: device.id } })
    await owner.query(`update devices set revoked_at = now() - interval '89 days'`)
    await runJob(kit.app, 'forget_what_is_over')
    assert.equal((await admin.listDevices()).items.length, 1, 'not before its time')
    await owner.query(`update devices set revoked_at = now() - interval '91 days'`)
    await owner.query('begin; select from vpn_sessions limit 1')
    const asked = performance.now()
    await assert.rejects(runJob(kit.app, 'drop_old_months'), /lock timeout/)
    const waited = performance.now() - asked
    await owner.query('rollback')
    assert.ok(waited < promptly, `whoever came meanwhile waited ${waited} ms behind it`)
    assert.equal(await sessions(), hadSessions, 'another hour')
    const others = before - (await months()).length
    const dropped = others + (await runJob(kit.app, 'drop_old_months'))
    await runJob(kit.app, 'forget_what_is_over')

    const after = (await months()).map((m) => m.name)
    assert.ok(dropped > 0 && after.length === before - dropped, `${before} - ${dropped} ${after}`)
    const monthsOf = (table: string) => after.filter((name) => name.startsWith(table)).length
    // Retention of the half year before: sessions 90 days, telemetry 30, metering 400, audit unlimited.
    t.diagnostic(`months dropped: ${dropped}; left: ${after.join(', ')}`)
    assert.ok(monthsOf('telemetry_events') < monthsOf('vpn_sessions'))
    assert.ok(monthsOf('vpn_sessions') < monthsOf('metering_reports'))
    assert.equal(monthsOf('metering_reports'), monthsOf('audit_log'))
    const ids = (await rows<{ id: string }>('select session_id as id from vpn_sessions')).map((r) => r.id)
    assert.deepEqual([ids.includes(old), ids.includes(young)], [false, true])

    assert.deepEqual((await admin.listDevices()).items, [])
    const { items } = await admin.listSessions({ query: { state: 'all', device_id: device.id } })
    assert.ok(items.length > 0 && items.every((s) => s.device_id === device.id && s.device_name === null))
    const told = await admin.listAuditEvents({ query: { target_id: device.id } })
    assert.deepEqual(told.items.map((e) => e.kind).sort(), ['device.changed', 'device.enrolled'])

    const again = await call(kit, operation('enroll'), deviceCaller(token, device.key), {
      device: { name: 'laptop', platform: 'linux' },
    })
    assert.equal(again.status, 201, again.text)
    for (const table of ['device_activity', 'device_postures', 'device_tags', 'device_groups'])
      assert.deepEqual(
        await rows(`select 1 from ${table} x where not exists (select from devices d where d.device_id = x.device_id)`),
        [],
      )
  })
  await owner.end()
})
