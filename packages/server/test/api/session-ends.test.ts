import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { RevokedSession } from '@holdfast/sdk'
import { isBlocked } from '@holdfast/sdk'
import { enroll, newSession, open, publish, report, rule, withGateway } from '../support/actors/gateways.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'

const sample = (device: { id: string }, more: object = {}) => ({
  session_id: newSession(),
  device_id: device.id,
  state: 'active',
  rx_bytes: 1,
  tx_bytes: 1,
  ...more,
})

test('a terminated session keeps its device out of the pool for a while', async (t: TestContext) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const { admin } = kit
  const a = await withGateway(kit, 'a', 'A')
  const b = await withGateway(kit, 'b', 'B')
  const device = await enroll(kit, 'laptop', { now: clock.now })
  await publish(kit, [rule('all', { any: true })])
  const gateway = open(kit, a, clock.now)
  await gateway.pull()
  const begin = async ({ client }: { client: typeof a.client }, more: object = {}) => {
    const s = sample(device, more)
    const at = clock.now().getTime()
    const interval_start = new Date(at - 1000).toISOString()
    const interval_end = new Date(at).toISOString()
    await client.metering({ body: report([s], { interval_start, interval_end }) })
    return s.session_id
  }
  const terminate = (session_id: string, block_seconds: number) =>
    admin.terminateSessions({ body: { operation: 'terminate', session_ids: [session_id], block_seconds } })
  const stateOf = async (session_id: string) => {
    const { state, end_reason } = await admin.getSession({ params: { session_id } })
    return [state, end_reason]
  }
  /** The revoked sessions that a new gateway process receives, at each replica. */
  const told = async (from = a): Promise<RevokedSession[][]> => {
    await kit.heard()
    return Promise.all(
      kit.replicas.map(async (replica) => {
        const fresh = open(kit, from, clock.now, replica)
        await fresh.pull()
        return [...fresh.state!.revokedSessions.values()]
      }),
    )
  }

  const session_id = await begin(a)
  const { block_until } = await terminate(session_id, 1200)
  const entry = { session_id, device_id: device.id, block_until }

  await t.test('the delta and every later snapshot say so, on every replica, to the gateways of the pool', async () => {
    assert.deepEqual((await gateway.pull())?.revokedSessions, [session_id])
    assert.deepEqual([...gateway.state!.revokedSessions.values()], [entry])
    assert.ok(isBlocked(gateway.state!, device.id, clock.now()))
    assert.deepEqual(await told(), [[entry], [entry]])
    assert.deepEqual(await told(b), [[], []])
  })
  await t.test('a session that begins meanwhile is over, and its gateway is told', async () => {
    const id = await begin(a)
    assert.deepEqual(await stateOf(id), ['ended', 'blocked'])
    assert.ok((await gateway.pull())?.revokedSessions.includes(id))
    assert.deepEqual(await stateOf(await begin(b)), ['active', null], 'another pool takes it')
  })
  await t.test('it is remembered until its end, and forgotten then', async () => {
    clock.advance(1140)
    assert.deepEqual(await told(), [[entry], [entry]], 'longer than a session that ended is told otherwise')
    clock.advance(61)
    assert.ok(!isBlocked(gateway.state!, device.id, clock.now()))
    assert.deepEqual(await told(), [[], []])
    assert.deepEqual(await stateOf(await begin(a)), ['active', null])
  })
  await t.test('with block_seconds 0 the session ends and the device may come again', async () => {
    const id = await begin(a)
    assert.equal((await terminate(id, 0)).block_until, null)
    assert.deepEqual(await told(), Array(2).fill([{ session_id: id, device_id: device.id, block_until: null }]))
    assert.deepEqual(await stateOf(await begin(a)), ['active', null])
  })
})

test('a device has one active session in a pool, whichever gateways take it', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin } = kit
  const a = await withGateway(kit, 'a', 'A')
  const { gateway, secret } = await admin.createGateway({
    params: { pool_id: a.pool.pool_id },
    body: { name: 'a2' },
  })
  const a2 = { gateway, secret, pool: a.pool, client: kit.clientFor(secret) }
  const b = await withGateway(kit, 'b', 'B')
  const devices = await times(10, (i) => enroll(kit, `device ${i}`))
  const device = devices[0]!
  await publish(kit, [rule('all', { any: true })])
  const ago = (seconds: number) => ({ started_at: new Date(Date.now() - seconds * 1000).toISOString() })
  const stateOf = async (session_id: string) => {
    const { state, end_reason } = await admin.getSession({ params: { session_id } })
    return [state, end_reason]
  }
  const active = async (device_id: string, pool_id = a.pool.pool_id) =>
    (await admin.listSessions({ query: { device_id, pool_id } })).items.map((s) => s.session_id)

  await t.test('after a failover the older one ends, its gateway is told, and another pool is left alone', async () => {
    const [older, newer, elsewhere] = [ago(60), ago(10), ago(90)].map((s) => sample(device, s))
    const pulling = open(kit, a)
    await a.client.metering({ body: report([older!]) })
    await b.client.metering({ body: report([elsewhere!]) })
    await pulling.pull()
    await a2.client.metering({ body: report([newer!]) })
    assert.deepEqual(await stateOf(older!.session_id), ['ended', 'superseded'])
    assert.deepEqual(await active(device.id), [newer!.session_id])
    assert.deepEqual(await active(device.id, b.pool.pool_id), [elsewhere!.session_id])
    const told = (await pulling.pull())?.revokedSessions
    assert.deepEqual(told, [older!.session_id])
    assert.equal(pulling.state?.revokedSessions.get(older!.session_id)?.block_until, null)
  })
  await t.test('one that is older than what another gateway has is over as it is reported', async () => {
    const [current] = await active(device.id)
    const late = sample(device, ago(40))
    await a.client.metering({ body: report([late]) })
    assert.deepEqual(await stateOf(late.session_id), ['ended', 'superseded'])
    assert.deepEqual(await active(device.id), [current])
  })
  await t.test(
    'twenty reports of both gateways at once, on two replicas, leave one session of each device',
    async () => {
      const clients = [a, a2].flatMap(({ secret: s }) => kit.replicas.map((r) => kit.clientFor(s, r)))
      // Each gateway reports its old sessions while the other takes over the devices, so that their reports cross.
      const held = [a, a2].map((_, i) => devices.map((d) => sample(d, ago(5 - i))))
      await Promise.all([0, 1].map((i) => clients[2 * i]!.metering({ body: report(held[i]!) })))
      const answers = await times(20, (i) => {
        const mine = i % 4 < 2 ? 0 : 1
        const fresh = devices.map((d, n) => sample(d, ago((i * 7 + n) % 20)))
        return clients[i % 4]!.metering({ body: report([...held[mine]!, ...fresh]) })
      })
      assert.deepEqual(new Set(answers.map((r) => r.accepted)), new Set([20]))
      for (const { id } of devices) assert.equal((await active(id)).length, 1, id)
    },
  )
  await t.test('a gateway that waits hears within a second that a session of its is over', async () => {
    const gateway = open(kit, a, undefined, kit.replicas[1]!)
    const s = sample(device, ago(0))
    await a.client.metering({ body: report([s]) })
    await gateway.pull()
    const hears = gateway.pull({ wait: 20 })
    await admin.terminateSessions({
      body: { operation: 'terminate', session_ids: [s.session_id], block_seconds: 0 },
    })
    const acknowledged = performance.now()
    assert.ok((await hears)?.revokedSessions.includes(s.session_id))
    const ms = performance.now() - acknowledged
    assert.ok(ms < 1000, `${ms} ms`)
  })
})
