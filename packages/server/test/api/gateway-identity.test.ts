import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { changeGateway, changeGatewayPool } from '@holdfast/sdk'
import { bearer, call, operation } from '../support/actors/all-callers.ts'
import {
  audited,
  enroll,
  newWireguardKey,
  open,
  publish,
  refused,
  region,
  rule,
  seqOf,
  withGateway,
} from '../support/actors/gateways.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

test('the identity of a gateway', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin } = kit
  const a = await withGateway(kit, 'a', 'A')
  const params = { gateway_id: a.gateway.gateway_id }
  const show = () => admin.getGateway({ params })
  const announce = (body: object, client = a.client) => client.identifyGateway({ body })
  const endpoints = [{ host: '198.51.100.7', port: 51820, proto: 'udp' as const }]
  const said = { listen_port: 51820, endpoints, version: '2.1.0', capabilities: ['nftables', 'ipv6'] }
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop')
  const gateway = open(kit, a)
  await gateway.pull()
  const events = async () => (await audited(kit, 'gateway.identified')).filter((e) => e.outcome === 'success')
  const offered = async () => (await device.directory()).find((p) => p.name === 'A')?.gateways ?? []

  await t.test(
    'what it says is shown, on record with what it changed, and stays where it does not say it',
    async () => {
      const public_key = newWireguardKey()
      assert.deepEqual(await announce({ public_key, ...said }), { changed: true, approval: 'approved', public_key })
      const shown = await show()
      assert.deepEqual(
        [shown.public_key, shown.listen_port, shown.endpoints, shown.version, shown.capabilities, shown.proposed_key],
        [public_key, 51820, endpoints, '2.1.0', ['nftables', 'ipv6'], null],
      )
      const event = (await events())[0]!
      assert.deepEqual((event.changes as Record<string, unknown>).public_key, [a.gateway.public_key, public_key])
      assert.equal(event.actor.type, 'gateway')
      assert.deepEqual(await announce({ listen_port: 51821 }), { changed: true, approval: 'approved', public_key })
      assert.deepEqual((await show()).endpoints, endpoints)
    },
  )
  await t.test('the same again changes nothing, by twenty at once on two replicas', async () => {
    const [before, count] = [await seqOf(kit), (await events()).length]
    const body = { ...said, listen_port: 51821 }
    const answers = await times(20, (i) => announce(body, kit.clientFor(a.secret, kit.replicas[i % 2]!)))
    assert.ok(answers.every((r) => !r.changed))
    assert.deepEqual([await seqOf(kit), (await events()).length], [before, count])
    const moved = await times(20, (i) => announce({ listen_port: 4500 }, kit.clientFor(a.secret, kit.replicas[i % 2]!)))
    assert.deepEqual([moved.filter((r) => r.changed).length, (await events()).length], [1, count + 1])
  })
  await t.test('a new key reaches the gateway in a held pull, and the devices', async () => {
    await gateway.pull()
    const held = gateway.pull({ wait: 20 })
    await new Promise((resolve) => setTimeout(resolve, 200))
    const public_key = newWireguardKey()
    await announce({ public_key })
    assert.equal((await held)?.kind, 'delta')
    assert.deepEqual(gateway.state?.gateway, {
      public_key,
      listen_port: 4500,
      addresses: gateway.state?.gateway.addresses,
      draining: false,
    })
    assert.equal(gateway.state?.gateway.addresses[0], '100.127.255.254')
    assert.equal((await offered())[0]?.public_key, public_key)
  })
  await t.test('draining, and what a pool says, are in the signed policy', async () => {
    await admin.drainGateway({ params, body: { draining: true } })
    await gateway.pull()
    assert.equal(gateway.state?.gateway.draining, true)
    await admin.drainGateway({ params, body: { draining: false } })
    const how = {
      nat: 'routed' as const,
      mtu: 1380,
      dns: ['10.0.0.53'],
      fail_mode: 'open' as const,
      lifetime_seconds: 120,
    }
    await changeGatewayPool(admin, { params: { pool_id: a.pool.pool_id } }, how)
    await gateway.pull()
    const { pool, generatedAt, expiresAt } = gateway.state!
    assert.deepEqual(pool, { protocol: 'wireguard', overlay: pool.overlay, ...how })
    assert.match(pool.overlay.join(), /^100\.64\.0\.0\/10,fd[0-9a-f:]+::\/48$/)
    assert.equal(expiresAt.getTime() - generatedAt.getTime(), 120_000)
  })
  await t.test('what is wrong is refused by its name', async () => {
    const wrong: [string, unknown][] = [
      ['public_key', 'not a key'],
      ['listen_port', 0],
      ['listen_port', 65_536],
      ['endpoints', Array(17).fill(endpoints[0])],
      ['version', 'x'.repeat(65)],
      ['capabilities', Array.from({ length: 33 }, (_, i) => `c${i}`)],
      ['capabilities', ['UPPER']],
      ['weight', 5],
    ]
    for (const [field, value] of wrong)
      await assert.rejects(announce({ [field]: value }), refused(422, new RegExp(field)))
    const b = await withGateway(kit, 'b', 'B')
    await assert.rejects(announce({ public_key: b.gateway.public_key }), refused(422, /key of another gateway/))
  })
  await t.test('nobody else may say it, and a gateway says it of itself alone', async () => {
    const body = { listen_port: 1 }
    const as = async (c: Parameters<typeof call>[2]) => (await call(kit, operation('identifyGateway'), c, body)).status
    assert.deepEqual([await as(null), await as(bearer(kit.adminKey))], [401, 403])
    await assert.rejects(device.client.identifyGateway({ body }), refused(403))
    const other = await withGateway(kit, 'other', 'Other')
    const query = { gateway_id: other.gateway.gateway_id }
    await assert.rejects(a.client.identifyGateway({ body, query }), refused(403))
    assert.equal((await show()).listen_port, 4500)
  })
})

test('in a pool that requires approval a key waits for an administrator', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin } = kit
  const pool = await admin.createGatewayPool({ body: { name: 'A', region, requires_approval: true } })
  const { gateway: made, secret } = await admin.createGateway({
    params: { pool_id: pool.pool_id },
    body: { name: 'a', endpoints: [{ host: 'a.example', port: 51820, proto: 'udp' }] },
  })
  const client = kit.clientFor(secret)
  const params = { gateway_id: made.gateway_id }
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop')
  const gateway = open(kit, { gateway: made, secret })
  const standing = async () => {
    const g = await admin.getGateway({ params })
    return [g.status, g.public_key, g.proposed_key]
  }
  const offered = async () => (await device.directory()).flatMap((p) => p.gateways.map((g) => g.public_key))
  const announce = (public_key: string) => client.identifyGateway({ body: { public_key } })
  const approve = (public_key: string, by = admin) => by.approveGateway({ params, body: { public_key } })
  const [first, second] = [newWireguardKey(), newWireguardKey()]

  await t.test('until then it is pending, told of no peer and shown to no device', async () => {
    assert.deepEqual(await announce(first), { changed: true, approval: 'pending', public_key: null })
    assert.deepEqual((await announce(first)).changed, false)
    assert.deepEqual(await standing(), ['pending', null, first])
    await client.heartbeat({ body: { boot_id: 'b', active_sessions: 0 } })
    assert.deepEqual([await offered(), (await standing())[0]], [[], 'pending'])
    await gateway.pull()
    assert.deepEqual([gateway.state?.peers.size, gateway.state?.gateway.public_key], [0, null])
  })
  await t.test('what is approved is the key that was looked at, once', async () => {
    await assert.rejects(approve(second), refused(422, /public_key/))
    const other = await kit.as('tenant_admin', await kit.newTenant())
    await assert.rejects(approve(first, other), refused(404))
    await assert.rejects(approve(first, await kit.as('viewer')), refused(403))
    const held = gateway.pull({ wait: 20 })
    const answers = await times(20, (i) => approve(first, kit.clientFor(kit.adminKey, kit.replicas[i % 2]!)))
    assert.equal(answers.filter((r) => r.changed).length, 1)
    assert.equal((await audited(kit, 'gateway.approved')).filter((e) => e.outcome === 'success').length, 1)
    assert.deepEqual(await standing(), ['healthy', first, null])
    await held
    while (gateway.state?.gateway.public_key !== first) await gateway.pull({ wait: 1 })
    assert.deepEqual([...gateway.state!.peers.keys()], [device.id])
    assert.deepEqual(await offered(), [first])
  })
  await t.test('a rotation waits too, while the key in force stays and the gateway serves on', async () => {
    assert.deepEqual(await announce(second), { changed: true, approval: 'pending', public_key: first })
    assert.deepEqual([await standing(), await offered()], [['healthy', first, second], [first]])
    await gateway.pull()
    assert.deepEqual([gateway.state?.peers.size, gateway.state?.gateway.public_key], [1, first])
    await approve(second)
    await gateway.pull()
    assert.deepEqual([gateway.state?.gateway.public_key, await offered()], [second, [second]])
  })
  await t.test('announcing the key in force takes the other back; an administrator may set one', async () => {
    await announce(first)
    assert.deepEqual(await announce(second), { changed: true, approval: 'approved', public_key: second })
    await announce(first)
    await changeGateway(admin, { params }, { public_key: first, proposed_key: first })
    assert.deepEqual(await standing(), ['healthy', first, null])
  })
  await t.test('a key that another gateway announces is taken', async () => {
    const more = await admin.createGateway({ params: { pool_id: pool.pool_id }, body: { name: 'a2' } })
    await announce(second)
    const body = { public_key: second }
    await assert.rejects(kit.clientFor(more.secret).identifyGateway({ body }), refused(422, /key of another gateway/))
  })
})
