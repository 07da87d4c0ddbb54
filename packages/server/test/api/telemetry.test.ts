import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { enroll } from '../gateways.ts'
import { startKit, times } from '../kit.ts'

test('telemetry', async (t: TestContext) => {
  const kit = await startKit(t)
  const device = await enroll(kit, 'phone')
  const event = (event_id: string, more: object = {}) => ({
    event_id,
    kind: 'quality' as const,
    at: new Date().toISOString(),
    latency_ms: 12.5,
    ...more,
  })
  const deviceNow = () => kit.admin.getDevice({ params: { device_id: device.id } })

  await t.test('an event counts once, within a batch and across batches', async () => {
    const e = event('e1')
    const events = [e, e, event('e2')]
    assert.deepEqual(await device.client.telemetry({ body: { events } }), { accepted: 2, duplicate: 1, rejected: [] })
    const answers = await times(10, () => device.client.telemetry({ body: { events: [e, event('e3', { at: e.at })] } }))
    assert.equal(
      answers.reduce((n, a) => n + a.accepted, 0),
      1,
    )
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
})
