import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { changeGateway, changeGatewayPool } from '@holdfast/sdk'
import { enroll, publish, refused, rule, withGateway } from '../gateways.ts'
import { createClock, startKit } from '../kit.ts'

test('the directory of a device', async (t: TestContext) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { admin } = kit
  const [a, b] = [await withGateway(kit, 'a', 'A'), await withGateway(kit, 'b', 'B')]
  const device = await enroll(kit, 'laptop', { tags: ['a'], now: clock.now })
  const beat = (g: { secret: string }, active_sessions = 0) =>
    kit.clientFor(g.secret).heartbeat({ body: { boot_id: 'b', active_sessions } })
  const pools = async () =>
    Object.fromEntries(
      (await device.client.gatewayPools()).pools.map((p) => [p.name, p.gateways.map((g) => `${g.name} ${g.status}`)]),
    )

  await t.test('without a policy no pool may be used', async () => assert.deepEqual(await pools(), {}))
  await t.test('a rule without a pool leads to every enabled one, a rule with one there only', async () => {
    await publish(kit, [rule('all', { any: true })])
    assert.deepEqual(await pools(), { A: ['a never_seen'], B: ['b never_seen'] })
    await changeGatewayPool(admin, { params: { pool_id: b.pool.pool_id } }, { enabled: false })
    assert.deepEqual(Object.keys(await pools()), ['A'])
    await changeGatewayPool(admin, { params: { pool_id: b.pool.pool_id } }, { enabled: true })
    await publish(kit, [rule('b-only', { tags: ['a'] }, ['B'])])
    assert.deepEqual(Object.keys(await pools()), ['B'])
    await publish(kit, [rule('others', { tags: ['z'] })])
    assert.deepEqual(await pools(), {})
    await publish(kit, [rule('a-only', { any: true }, [a.pool.pool_id])])
    assert.deepEqual(Object.keys(await pools()), ['A'])
  })
  await t.test('the best come first; silent and draining ones are left out', async () => {
    const params = { pool_id: a.pool.pool_id }
    const second = await admin.createGateway({ params, body: { name: 'a2', weight: 200 } })
    const third = await admin.createGateway({ params, body: { name: 'a3', weight: 200 } })
    await beat(a)
    assert.deepEqual(await pools(), { A: ['a healthy'] })
    await beat(second, 100)
    await beat(third, 2)
    assert.deepEqual(await pools(), { A: ['a3 healthy', 'a2 healthy', 'a healthy'] })
    clock.advance(31)
    await beat(second, 100)
    assert.deepEqual(await pools(), { A: ['a2 healthy', 'a3 degraded', 'a degraded'] })
    clock.advance(31)
    assert.deepEqual(await pools(), { A: ['a2 degraded'] })
    await admin.drainGateway({ params: { gateway_id: second.gateway.gateway_id }, body: { draining: true } })
    assert.deepEqual(await pools(), { A: [] })
  })
  await t.test('what did not change is 304', async () => {
    await beat(a)
    const first = await device.send('gatewayPools')
    assert.equal(first.headers.etag, `"${first.body?.digest}"`)
    const again = await device.send(
      'gatewayPools',
      {},
      { headers: { 'if-none-match': `"x", W/${first.headers.etag}` } },
    )
    assert.deepEqual([again.status, again.body], [304, undefined])
    await changeGateway(admin, { params: { gateway_id: a.gateway.gateway_id } }, { weight: 1 })
    const etag = String(first.headers.etag)
    assert.equal((await device.send('gatewayPools', {}, { headers: { 'if-none-match': etag } })).status, 200)
  })
  await t.test('a gateway may not read it', () => assert.rejects(kit.clientFor(a.secret).gatewayPools(), refused(403)))
})
