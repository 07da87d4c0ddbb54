import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { decodeId } from '../../src/kernel/ids.ts'
import { enroll, newSession, report, withGateway } from '../support/actors/gateways.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

test('telemetry', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2 })
  const device = await enroll(kit, 'phone')
  const event = (event_id: string, more: object = {}) => ({
    event_id,
    kind: 'quality' as const,
    at: new Date().toISOString(),
    latency_ms: 12.5,
    ...more,
  })
  const stored = async (deviceId: string) =>
    (
      await kit.db.inTenant(kit.tenant, (tx) =>
        tx
          .selectFrom('telemetry_events')
          .select('event_id')
          .where('tenant_id', '=', kit.tenant)
          .where('device_id', '=', decodeId('device', deviceId)!)
          .execute(),
      )
    ).length
  const deviceNow = () => kit.admin.getDevice({ params: { device_id: device.id } })

  await t.test('an event counts once, within a request and across requests, on every replica', async () => {
    const e = event('e1')
    const events = [e, e, event('e2')]
    const first = await device.client.telemetry({ body: { events } })
    assert.deepEqual(first, { accepted: 2, duplicate: 1, rejected: [] })
    const again = await device.client.telemetry({ body: { events } })
    assert.deepEqual(again, { accepted: 0, duplicate: 3, rejected: [] })

    const clients = kit.replicas.map((replica) => device.at(replica))
    const accepted = (answers: { accepted: number }[]) => answers.reduce((n, a) => n + a.accepted, 0)
    const third = event('e3')
    const many = await times(20, (i) => clients[i % 2]!.telemetry({ body: { events: [e, third] } }))
    assert.equal(accepted(many), 1)
    // The id identifies the event, whatever else differs.
    const moments = await times(20, (i) =>
      clients[i % 2]!.telemetry({
        body: { events: [event('e4', { at: new Date(Date.now() - i).toISOString(), latency_ms: i })] },
      }),
    )
    assert.equal(accepted(moments), 1)
    const others = await times(20, (i) => clients[i % 2]!.telemetry({ body: { events: [event(`other ${i}`)] } }))
    assert.equal(accepted(others), 20)
    assert.equal(await stored(device.id), 24)

    const neighbour = await enroll(kit, 'tablet')
    assert.equal((await neighbour.client.telemetry({ body: { events } })).accepted, 2, 'ids are of one device')
  })
  await t.test('a session is one of the own, that its gateway has reported', async () => {
    const { client: gateway } = await withGateway(kit)
    const other = await enroll(kit, 'laptop of another')
    const [own, foreign, early] = [newSession(), newSession(), newSession()]
    const sample = (session_id: string, device_id: string) => ({
      session_id,
      device_id,
      state: 'active',
      rx_bytes: 1,
      tx_bytes: 1,
    })
    await gateway.metering({ body: report([sample(own, device.id), sample(foreign, other.id)]) })
    const events = [own, foreign, early, 'vse_x', 'not an id'].map((session_id, i) => event(`s${i}`, { session_id }))
    const answer = await device.client.telemetry({ body: { events } })
    const none = 'no such VPN session of this device'
    assert.deepEqual(answer, {
      accepted: 1,
      duplicate: 0,
      rejected: [1, 2, 3, 4].map((index) => ({ index, error: none })),
    })
    await gateway.metering({ body: report([sample(early, device.id)]) })
    const later = await device.client.telemetry({ body: { events } })
    assert.deepEqual([later.accepted, later.duplicate, later.rejected.map((r) => r.index)], [1, 1, [1, 3, 4]])

    const digest = `sha256:${'f'.repeat(64)}`
    const applied = event('s9', { kind: 'policy_applied', policy_digest: digest, session_id: foreign })
    assert.equal((await device.client.telemetry({ body: { events: [applied] } })).accepted, 0)
    assert.notEqual((await deviceNow()).policy.applied_digest, digest, 'what is rejected says nothing')
  })
  await t.test('twenty who say the same at once, on two replicas, put one connection in question once', async () => {
    const liar = await enroll(kit, 'liar')
    const session_id = newSession()
    await times(20, (i) =>
      liar
        .at(kit.replicas[i % 2]!)
        .telemetry({ body: { events: [event(`loud ${i}`, { kind: 'connected', session_id })] } }),
    )
    const rows = async (table: 'device_claims' | 'connections_in_question') =>
      (
        await kit.db.inTenant(kit.tenant, (tx) =>
          tx
            .selectFrom(table)
            .select('device_id')
            .where('tenant_id', '=', kit.tenant)
            .where('device_id', '=', decodeId('device', liar.id)!)
            .execute(),
        )
      ).length
    assert.deepEqual([await rows('device_claims'), await rows('connections_in_question')], [1, 1])
  })
  await t.test('times out of bounds and foreign ids are rejected by index', async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const answer = await device.client.telemetry({
      body: {
        events: [
          event('a', { at: at(-8 * 86_400_000) }),
          event('b'),
          event('c', { at: at(600_000) }),
          event('d', { gateway_id: 'gwy_x' }),
          event('e', { kind: 'policy_applied' }),
        ],
      },
    })
    assert.deepEqual([answer.accepted, answer.rejected.map((r) => r.index)], [1, [0, 2, 3, 4]])
  })
  await t.test('what it says of the applied policy reaches the device, the newest word last', async () => {
    const digest = (c: string) => `sha256:${c.repeat(64)}`
    const applied = (id: string, c: string, ms: number) =>
      event(id, { kind: 'policy_applied', policy_digest: digest(c), at: new Date(Date.now() + ms).toISOString() })
    await device.client.telemetry({ body: { events: [applied('p1', 'b', -1000), applied('p0', 'a', -5000)] } })
    assert.equal((await deviceNow()).policy.applied_digest, digest('b'))
    await device.client.telemetry({ body: { events: [applied('p2', 'c', -60_000)] } })
    assert.equal((await deviceNow()).policy.applied_digest, digest('b'))
    await device.client.telemetry({ body: { events: [applied('p3', 'd', 200_000)] } })
    await device.client.telemetry({ body: { events: [applied('p4', 'e', 0)] } })
    assert.equal((await deviceNow()).policy.applied_digest, digest('e'))
    assert.ok((await deviceNow()).last_seen_at)
  })
  await t.test('of a device whose clock is off, either way, and that says so the times are put right', async () => {
    const { client: gateway } = await withGateway(kit, 'clock')
    for (const minutes of [-10, 10]) {
      const off = await enroll(kit, `off by ${minutes}`)
      const session_id = newSession()
      const sample = { session_id, device_id: off.id, state: 'active' as const, rx_bytes: 1, tx_bytes: 1 }
      await gateway.metering({ body: report([sample]) })
      const sent_at = new Date(Date.now() + minutes * 60_000).toISOString()
      const events = [{ event_id: 'e', kind: 'connected' as const, at: sent_at, session_id }]
      assert.equal((await off.client.telemetry({ body: { sent_at, events } })).accepted, 1)
      const [said] = (await kit.admin.connectionTruth({ query: { device_id: off.id } })).items
      const age = said?.device?.age_seconds ?? Number.NaN
      assert.ok(Math.abs(age) < 60, `${minutes}: ${JSON.stringify(said?.device)}`)
    }
  })
})
