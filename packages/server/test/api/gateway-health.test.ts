import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { exampleId } from '@holdfast/contract/schema'
import { changeGatewayPool } from '@holdfast/sdk'
import { enroll, newSession, open, publish, refused, report, rule, withGateway } from '../support/actors/gateways.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'

test('gateway health and impact', async (t: TestContext) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { admin } = kit
  const a = await withGateway(kit, 'a', 'A')
  const b = await admin.createGateway({ params: { pool_id: a.pool.pool_id }, body: { name: 'b' } })
  const bClient = kit.clientFor(b.secret)
  await publish(kit, [rule('all', { any: true })])
  const params = { gateway_id: a.gateway.gateway_id }

  const beat = (client = a.client, more: object = {}) =>
    client.heartbeat({ body: { boot_id: 'boot-1', active_sessions: 1, ...more } })
  const healthOf = async (name: string) => {
    const { items } = await admin.gatewayHealth()
    return items.find((g) => g.name === name)!
  }
  const enrolled = (name: string) => enroll(kit, name, { now: clock.now })
  const devices = await times(4, (i) => enrolled(`device ${i}`))
  const meter = (which: number, client = a.client, session_id = newSession(), more: object = {}) => {
    const at = clock.now().toISOString()
    const samples = [
      { session_id, device_id: devices[which]!.id, state: 'active', rx_bytes: 1, tx_bytes: 1, started_at: at, ...more },
    ]
    return client.metering({ body: report(samples, { interval_start: at, interval_end: at }) }).then(() => session_id)
  }
  const order = async () => (await devices[0]!.directory())[0]!.gateways.map((g) => g.name)
  const impact = (query: object = {}) => admin.gatewayImpact({ params, query })
  const outcomes = async (query: object = {}) =>
    Object.fromEntries((await impact(query)).items.map((d) => [d.device_name, d.outcome]))

  await t.test('states with reasons, healthy to down, and a summary', async () => {
    assert.equal((await healthOf('a')).status, 'never_seen')
    await beat()
    await beat(bClient)
    const healthy = await healthOf('a')
    assert.deepEqual(
      [healthy.status, healthy.heartbeat_age_seconds, healthy.pool_name, healthy.region, healthy.stands_by_until],
      ['healthy', 0, 'A', 'eu-1', null],
    )
    clock.advance(31)
    await beat(bClient)
    const degraded = await healthOf('a')
    assert.deepEqual([degraded.status, degraded.heartbeat_age_seconds], ['degraded', 31])
    assert.match(degraded.status_reason, /31 seconds ago.*degraded after 30/)
    clock.advance(30)
    await beat(bClient)
    assert.equal((await healthOf('a')).status, 'down')
    const { summary } = await admin.gatewayHealth({ query: { limit: 1 } })
    assert.deepEqual(summary, { healthy: 1, degraded: 0, draining: 0, down: 1, never_seen: 0, pending: 0 })
    const down = await admin.gatewayHealth({ query: { status: 'down' } })
    assert.deepEqual(
      down.items.map((g) => g.name),
      ['a'],
    )
    assert.deepEqual((await admin.gatewayHealth({ query: { pool_id: exampleId('gateway_pool') } })).items, [])
  })

  await t.test('pages by name go on where they were', async () => {
    const first = await admin.gatewayHealth({ query: { limit: 1 } })
    const second = await admin.gatewayHealth({ query: { limit: 1, cursor: first.next_cursor! } })
    assert.deepEqual([first.items[0]?.name, second.items[0]?.name, second.summary], ['a', 'b', null])
    assert.equal(second.next_cursor, null)
  })

  await t.test('one that comes back stands by behind the others, for five minutes without a pause', async () => {
    assert.deepEqual(await order(), ['b'])
    await beat()
    assert.deepEqual(await order(), ['b', 'a'], 'although it has the lesser id')
    const back = await healthOf('a')
    assert.equal(back.status, 'healthy')
    assert.deepEqual([back.up_since, back.problems.map((p) => p.code).includes('unsteady')], [back.last_seen_at, true])
    for (let i = 0; i < 3; i++) {
      clock.advance(25)
      await beat()
      await beat(bClient)
      assert.deepEqual(await order(), ['b', 'a'])
    }
    // The gateway falls silent again, and the period starts again.
    for (const client of [bClient, a.client]) {
      clock.advance(33)
      await beat(bClient)
      await beat(client)
    }
    for (let i = 1; i <= 6; i++) {
      clock.advance(50)
      await beat()
      await beat(bClient)
      assert.deepEqual(await order(), i < 6 ? ['b', 'a'] : ['a', 'b'])
    }
    assert.equal((await healthOf('a')).stands_by_until, null)
  })

  await t.test('one that has its share of the capacity stands by', async () => {
    await changeGatewayPool(admin, { params: { pool_id: a.pool.pool_id } }, { capacity: 20 })
    await beat(a.client, { active_sessions: 10 })
    clock.advance(2)
    assert.deepEqual(await order(), ['b', 'a'])
    const full = await healthOf('a')
    assert.deepEqual([full.capacity, full.problems.map((p) => p.code)], [10, ['policy_behind', 'full']])
    await changeGatewayPool(admin, { params: { pool_id: a.pool.pool_id } }, { capacity: null })
  })

  await t.test('applied policy, clock and certificate', async () => {
    const agent = open(kit, a, clock.now)
    await agent.pull()
    agent.confirm()
    await agent.heartbeat({ active_sessions: 0 })
    clock.advance(61)
    await agent.heartbeat({ active_sessions: 0 })
    const good = await healthOf('a')
    assert.deepEqual(
      [good.policy.behind, Math.abs(good.clock_offset_ms!) < 1000, good.problems.filter((p) => p.code !== 'unsteady')],
      [false, true, []],
    )
    assert.equal(good.policy.applied_seq! >= good.policy.expected_seq, true)
    await publish(kit, [rule('all', { any: true }), rule('more', { any: true })])
    assert.equal((await healthOf('a')).policy.behind, false, 'it may be on its way')
    clock.advance(61)
    const ahead = new Date(clock.now().getTime() + 90_000).toISOString()
    const ends = new Date(clock.now().getTime() + 86_400_000).toISOString()
    const apply_error = { code: 'nft', detail: 'no such table' }
    await beat(a.client, { sent_at: ahead, certificate_expires_at: ends, apply_error })
    const bad = await healthOf('a')
    assert.ok(Math.abs(bad.clock_offset_ms! - 90_000) < 1000)
    assert.equal(bad.certificate_expires_at, ends)
    assert.deepEqual(
      bad.problems.map((p) => p.code).filter((c) => c !== 'unsteady'),
      ['apply_error', 'policy_behind', 'clock_offset', 'certificate_expiring'],
    )
    await beat(a.client, { sent_at: '1960-01-01T00:00:00Z', apply_error: null })
    assert.equal((await healthOf('a')).clock_offset_ms, bad.clock_offset_ms, 'what nobody can mean says nothing')
    await agent.pull()
    agent.confirm()
    await agent.heartbeat({ active_sessions: 0 })
  })

  await t.test('impact: who is on it, who moved, who is stuck', async () => {
    const first = await meter(0)
    // A connection through another pool does not count for a device that is stuck in this one.
    const elsewhere = await withGateway(kit, 'c', 'C')
    await meter(2, elsewhere.client)
    await meter(1)
    await meter(2)
    await meter(3, bClient)
    assert.deepEqual(await outcomes(), { 'device 0': 'on_it', 'device 1': 'on_it', 'device 2': 'on_it' })
    // The gateway fails: one of its devices moves, and one reports that its tunnel is still up.
    clock.advance(20)
    await meter(0, bClient)
    await devices[1]!.client.telemetry({
      body: {
        events: [{ event_id: 'e1', kind: 'quality', at: clock.now().toISOString(), gateway_id: params.gateway_id }],
      },
    })
    clock.advance(45)
    await beat(bClient)
    const found = await impact()
    assert.equal(found.status, 'down')
    assert.deepEqual(found.counts, { devices: 3, on_it: 1, moved: 1, stuck: 1, left: 0 })
    assert.deepEqual(await outcomes(), { 'device 0': 'moved', 'device 1': 'on_it', 'device 2': 'stuck' })
    assert.equal(found.others_serving, 1)
    clock.advance(31)
    assert.equal((await impact()).others_serving, 1, 'devices are sent to one that is degraded')
    await beat(bClient)
    const moved = found.items.find((d) => d.outcome === 'moved')
    assert.deepEqual(
      [moved?.session_id, moved?.end_reason, moved?.moved_to?.gateway_id],
      [first, 'superseded', b.gateway.gateway_id],
    )
    assert.deepEqual(await outcomes({ outcome: 'stuck' }), { 'device 2': 'stuck' })
    await assert.rejects(impact({ since: '2020-01-01T00:00:00Z' }), refused(422))
    const one = await impact({ limit: 1 })
    const rest = await impact({ limit: 5, cursor: one.next_cursor })
    assert.deepEqual(
      [...one.items, ...rest.items].map((d) => d.device_id),
      found.items.map((d) => d.device_id),
    )
    assert.equal(rest.counts, null)
    await admin.changeDevice({ body: { operation: 'suspend', device_id: devices[2]!.id } })
    clock.advance(300)
    const after = { 'device 0': 'moved', 'device 1': 'stuck', 'device 2': 'left' }
    assert.deepEqual(
      await outcomes(),
      after,
      'a tunnel that was up once is not up for good; who was ended is not stuck',
    )
    // The gateway returns; the outcomes of that outage can still be queried.
    await admin.changeDevice({ body: { operation: 'reactivate', device_id: devices[2]!.id } })
    await beat()
    await beat(bClient)
    assert.deepEqual(await outcomes(), { 'device 1': 'on_it' })
    assert.deepEqual(await outcomes({ since: found.since }), { ...after, 'device 1': 'on_it' })
    await meter(2)
  })

  await t.test('impact of a drain: since then', async () => {
    await admin.drainGateway({ params, body: { draining: true, reason: 'kernel' } })
    const draining = await healthOf('a')
    assert.ok(Math.abs(Date.parse(draining.drained_at!) - clock.now().getTime()) < 1000)
    clock.advance(5)
    await beat()
    await meter(1, bClient)
    assert.deepEqual(await outcomes(), { 'device 1': 'moved', 'device 2': 'on_it' })
    await admin.drainGateway({ params, body: { draining: false } })
    assert.equal((await healthOf('a')).drained_at, null)
  })

  await t.test('another tenant has no such gateway', async () => {
    const stranger = await kit.as('tenant_admin', await kit.newTenant())
    await assert.rejects(stranger.gatewayImpact({ params }), refused(404))
    assert.deepEqual((await stranger.gatewayHealth()).items, [])
  })
})
