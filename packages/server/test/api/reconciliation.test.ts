import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { exampleId } from '@holdfast/contract/schema'
import { changeGatewayPool } from '@holdfast/sdk'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { enroll } from '../support/actors/devices.ts'
import { gatewayAgent, makeGateway, meteringReport, newVpnSessionId } from '../support/actors/gateways.ts'
import { refused } from '../support/clients/answers.ts'
import { startCommand } from '../support/clients/cli-command.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { createConnectionReports, type Device } from '../support/domain/connection-reports.ts'
import { publish, rule } from '../support/domain/policy.ts'

test('reconciliation of connections', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { client, gateway, pool, secret } = await makeGateway(kit)
  const other = await makeGateway(kit, 'g2')
  await publish(kit, [rule('all', { any: true })])

  const { meter, say, later, truthOf, alerts, judge, beat } = createConnectionReports(kit, client)
  await beat()

  await t.test('four agreeing reports are consistent', async () => {
    const device = await enroll(kit, 'honest')
    const session = newVpnSessionId()
    await meter(device, session, { source_ip: '192.0.2.7' })
    await say(device, 'connected', { session_id: session, latency_ms: 12 })
    const [found, ...more] = await truthOf(device)
    assert.ok(found)
    assert.deepEqual(more, [])
    assert.deepEqual([found.verdict, found.since, found.disagreements], ['consistent', null, []])
    assert.deepEqual([found.session_id, found.gateway_id, found.pool_id], [session, gateway.gateway_id, pool.pool_id])
    assert.deepEqual([found.control_plane.device_status, found.control_plane.session_state], ['active', 'active'])
    assert.deepEqual([found.gateway?.state, found.gateway?.source_ip], ['active', '192.0.2.7'])
    assert.deepEqual([found.device?.state, found.device?.latency_ms], ['connected', 12])
    assert.deepEqual([found.policy.allowed, found.policy.reason], [true, 'allowed'])
    await judge()
    assert.deepEqual(await alerts('connection.conflict'), [])

    const { spc } = await admin.issueSpc({ body: { csr: await newCsr(), device_id: device.id } })
    assert.equal((await truthOf(device))[0]?.control_plane.certificate_expires_at, spc.not_after)
    await admin.revokeSpc({ body: { spc_id: spc.spc_id } })
    const [without] = await truthOf(device)
    assert.deepEqual([without?.verdict, without?.control_plane.certificate_expires_at], ['stale', null])
    assert.deepEqual(without?.disagreements, [
      { field: 'certificate', control_plane: 'no certificate in use', gateway: 'active', device: null, policy: null },
    ])
  })

  await t.test('the reported and the expected policy of a gateway are separate fields', async () => {
    const device = await enroll(kit, 'two digests')
    const [silent, outspoken] = [newVpnSessionId(), newVpnSessionId()]
    await meter(device, silent)
    const first = await admin.getSession({ params: { session_id: silent } })
    assert.equal(first.policy_digest, null)
    const digest = `sha256:${'a'.repeat(64)}`
    await meter(device, outspoken, { policy_digest: digest, started_at: new Date().toISOString() })
    const second = await admin.getSession({ params: { session_id: outspoken } })
    assert.deepEqual([second.policy_digest, second.assigned_digest], [digest, first.assigned_digest])
    const [found] = await truthOf(device)
    assert.deepEqual(
      [found?.verdict, found?.disagreements],
      [
        'stale',
        [
          {
            field: 'policy_digest',
            control_plane: first.assigned_digest,
            gateway: digest,
            device: null,
            policy: null,
          },
        ],
      ],
    )
  })

  await t.test('a gateway that meters a revoked device is unauthorized, with one alert until it stops', async () => {
    const devices = await times(2, (i) => enroll(kit, `revoked ${i}`))
    const sessions = devices.map(newVpnSessionId)
    for (const [i, device] of devices.entries()) {
      await meter(device, sessions[i]!)
      await admin.changeDevice({ body: { operation: 'revoke', device_id: device.id } })
    }
    const [first, second] = devices as [Device, Device]
    await meter(first, sessions[0]!)
    await judge()
    assert.deepEqual(await truthOf(first, 'unauthorized'), [], 'it may not have heard of it yet')
    await later(first, 10)
    await later(second, 10)
    await meter(first, sessions[0]!)
    await meter(second, sessions[1]!)
    // A late report from before takes nothing back.
    const before = new Date(Date.now() - 60_000).toISOString()
    const late = { session_id: sessions[0], device_id: first.id, state: 'active', rx_bytes: 1, tx_bytes: 1 }
    await client.metering({ body: meteringReport([late], { interval_start: before, interval_end: before }) })
    await judge()
    const [found] = await truthOf(first, 'unauthorized')
    assert.ok(found?.since)
    assert.deepEqual(
      [found.control_plane.device_status, found.control_plane.end_reason, found.gateway?.state, found.policy.reason],
      ['revoked', 'revoked', 'active', 'revoked'],
    )
    assert.deepEqual(found.disagreements, [
      { field: 'authorization', control_plane: 'ended', gateway: 'active', device: null, policy: 'revoked' },
    ])
    assert.deepEqual(await alerts('connection.unauthorized'), ['2 connections of gateway g1 are unauthorized'])
    const counted = await admin.connectionTruth({ query: { limit: 1 } })
    assert.equal(counted.in_question?.unauthorized, 2)
    const { run } = await startCommand(t, kit)
    assert.match((await run('truth', 'list')).err, /In question: 2 unauthorized, 0 in conflict/)
    assert.match((await run('truth', 'list', '--verdict', 'unauthorized')).out, /revoked 0 .* authorization/)

    await judge()
    assert.equal((await alerts('connection.unauthorized')).length, 1)
    for (const [i, device] of devices.entries()) {
      await meter(device, sessions[i]!, { state: 'ended' })
      await later(device, 61)
    }
    await judge()
    assert.deepEqual(await truthOf(first, 'unauthorized'), [])
    assert.deepEqual(await alerts('connection.unauthorized'), [])
  })

  await t.test('a gateway with a clock ten minutes off is judged like any other', async () => {
    const device = await enroll(kit, 'off')
    const at = (off: number) => gatewayAgent(kit, { gateway, secret }, () => new Date(Date.now() + off * 1000))
    const [ahead, behind] = [at(600), at(-600)]
    const of = { session_id: newVpnSessionId(), device_id: device.id, rx_bytes: 1, tx_bytes: 1 }
    for (const agent of [ahead, behind]) {
      await agent.meter([{ ...of, state: 'active' }])
      assert.equal((await truthOf(device))[0]?.verdict, 'consistent')
    }
    const { started_at } = await admin.getSession({ params: { session_id: of.session_id } })
    assert.ok(Math.abs(Date.parse(started_at) - Date.now()) < 60_000, started_at)
    await admin.changeDevice({ body: { operation: 'revoke', device_id: device.id } })
    await later(device, 10)
    await behind.meter([{ ...of, state: 'active' }])
    await judge()
    assert.equal((await truthOf(device, 'unauthorized')).length, 1)
  })

  await t.test('a session that the policy no longer lets through the pool is unauthorized', async () => {
    const device = await enroll(kit, 'not let in')
    const session = newVpnSessionId()
    await meter(device, session)
    await publish(kit, [rule('others', { any: true }, [other.pool.name])])
    await meter(device, session)
    await judge()
    assert.deepEqual(await truthOf(device, 'unauthorized'), [], 'the policy may be on its way to the gateway')
    assert.equal((await truthOf(device))[0]?.verdict, 'stale')
    await later(device, 61)
    await meter(device, session)
    await judge()
    const [found] = await truthOf(device, 'unauthorized')
    assert.deepEqual(
      [found?.policy.allowed, found?.policy.reason, found?.control_plane.device_status],
      [false, 'no_rule', 'active'],
    )
    await publish(kit, [rule('all', { any: true })])
    await meter(device, session)
    await later(device, 61)
    await meter(device, session)
    await judge()
    assert.deepEqual(await truthOf(device, 'unauthorized'), [])
    assert.equal((await truthOf(device))[0]?.verdict, 'consistent')
  })

  await t.test('a gateway of a disabled pool may carry no device', async () => {
    const device = await enroll(kit, 'closed')
    const session = newVpnSessionId()
    const params = { pool_id: other.pool.pool_id }
    await meter(device, session, {}, other.client)
    await changeGatewayPool(admin, { params }, { enabled: false })
    await meter(device, session, {}, other.client)
    await later(device, 61)
    await meter(device, session, {}, other.client)
    await judge()
    const [found] = await truthOf(device, 'unauthorized')
    assert.deepEqual([found?.policy.allowed, found?.policy.reason], [false, 'pool_disabled'])
    const { items } = await admin.gatewayHealth({ query: { pool_id: params.pool_id } })
    assert.ok(items[0]?.problems.some((p) => p.code === 'closed'))
    await changeGatewayPool(admin, { params }, { enabled: true })
    await meter(device, session, { state: 'ended' }, other.client)
    await later(device, 61)
    await judge()
    assert.deepEqual(await truthOf(device, 'unauthorized'), [])
  })

  await t.test(
    'a device that claims a session unknown to gateways is in conflict after the time of a report',
    async () => {
      const device = await enroll(kit, 'liar')
      const claimed = newVpnSessionId()
      const of = { session_id: claimed, gateway_id: gateway.gateway_id }
      assert.equal((await say(device, 'connected', of)).rejected.length, 1)
      await judge()
      assert.deepEqual(await truthOf(device, 'conflict'), [], 'the report of its gateway may be on its way')
      await later(device, 91)
      await say(device, 'quality', of)
      await judge()
      const [found] = await truthOf(device, 'conflict')
      assert.deepEqual([found?.session_id, found?.gateway, found?.device?.session_id], [null, null, claimed])
      assert.deepEqual(found?.disagreements, [
        { field: 'state', control_plane: null, gateway: null, device: 'connected', policy: null },
      ])
      assert.deepEqual(await alerts('connection.conflict'), ['1 connection of gateway g1 is in conflict'])

      await meter(device, claimed)
      await later(device, 61)
      await meter(device, claimed)
      await judge()
      assert.deepEqual(await truthOf(device, 'conflict'), [])
      assert.deepEqual(await alerts('connection.conflict'), [])
    },
  )

  await t.test('a claim without a gateway, or with an unknown one, is in conflict too', async () => {
    const device = await enroll(kit, 'vague liar')
    await say(device, 'connected', { session_id: newVpnSessionId() })
    await later(device, 91)
    await judge()
    const [found] = await truthOf(device, 'conflict')
    assert.deepEqual([found?.gateway_id, found?.policy.reason], [null, 'no_gateway'])
    // Another device reports its session before the gateway does.
    const early = await enroll(kit, 'early')
    const session = newVpnSessionId()
    await say(early, 'connected', { session_id: session })
    await meter(early, session)
    await later(early, 91)
    await meter(early, session)
    await judge()
    assert.deepEqual(await truthOf(early, 'conflict'), [])
    await say(device, 'disconnected', { gateway_id: newVpnSessionId().replace('vse', 'gwy') })
    await later(device, 61)
    await judge()
    assert.deepEqual(await truthOf(device, 'conflict'), [])
  })

  await t.test('a gateway that carries a disconnected device is in conflict', async () => {
    const device = await enroll(kit, 'left')
    const session = newVpnSessionId()
    await meter(device, session)
    await say(device, 'disconnected', { session_id: session })
    await judge()
    assert.equal((await truthOf(device))[0]?.verdict, 'stale')
    await later(device, 100)
    await meter(device, session)
    await judge()
    const [found] = await truthOf(device, 'conflict')
    assert.deepEqual([found?.device?.state, found?.gateway?.state], ['disconnected', 'active'])
    await meter(device, session, { state: 'ended' })
    await later(device, 61)
    await judge()
    assert.deepEqual(await truthOf(device, 'conflict'), [])
    // Another device leaves before its gateway reports the session.
    const brief = await enroll(kit, 'brief')
    const unheard = { session_id: newVpnSessionId(), gateway_id: gateway.gateway_id }
    await say(brief, 'disconnected', unheard)
    await meter(brief, unheard.session_id)
    await later(brief, 100)
    await meter(brief, unheard.session_id)
    await judge()
    assert.equal((await truthOf(brief, 'conflict')).length, 1)
  })

  await t.test('a tenant sees only its own connections', async () => {
    const stranger = await kit.as('tenant_admin', await kit.newTenant())
    const none = { stale: 0, conflict: 0, unauthorized: 0 }
    assert.deepEqual(await stranger.connectionTruth(), { items: [], next_cursor: null, in_question: none })
    assert.deepEqual((await admin.connectionTruth({ query: { device_id: exampleId('device') } })).items, [])
    await assert.rejects(admin.connectionTruth({ query: { verdict: 'wrong' as 'stale' } }), refused(400))
  })
})
