import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { changeGateway, changeGatewayPool, enrollDevice, type GatewayDirectory } from '@holdfast/sdk'
import pg from 'pg'
import {
  changeSomethingElse,
  enroll,
  newWireguardKey,
  publish,
  refused,
  rule,
  withGateway,
} from '../support/actors/gateways.ts'
import { createClock, startKit } from '../support/deployment/deployment.ts'
import { promptly, until } from '../support/deployment/wait-until.ts'

test('the directory of a device', async (t: TestContext) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { admin } = kit
  const [a, b] = [await withGateway(kit, 'a', 'A'), await withGateway(kit, 'b', 'B')]
  const device = await enroll(kit, 'laptop', { tags: ['a'], now: clock.now })
  const beat = (g: { secret: string }, active_sessions = 0) =>
    kit.clientFor(g.secret).heartbeat({ body: { boot_id: 'b', active_sessions } })
  const pools = async () =>
    Object.fromEntries((await device.directory()).map((p) => [p.name, p.gateways.map((g) => `${g.name} ${g.status}`)]))

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
    assert.match(String(first.headers.etag), new RegExp(`^"${first.body?.digest}\\.[0-9a-z]+"$`))
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

test('a directory is signed for the device, and says what it reaches through which pool', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin } = kit
  const [a, b] = [await withGateway(kit, 'a', 'A'), await withGateway(kit, 'b', 'B')]
  const { secret: token } = await admin.generateToken({ body: { max_uses: 0, tags: ['a'] } })
  const fact = { name: 'laptop', platform: 'linux' } as const
  const open = (n: number) =>
    enrollDevice({ baseUrl: kit.publicUrl, token, dispatcher: kit.replicas[n]!.dispatcher, device: fact })
  const device = await open(0)
  const allow = (id: string, more: object) => ({ id, action: 'allow', from: { tags: ['a'] }, ...more })
  const rules = [
    allow('wiki', { to: ['wiki'] }),
    allow('db', { to: ['db', '10.9.0.0/16'], via: ['B'] }),
    allow('site', { to: ['site'] }),
    allow('over', { to: ['10.66.0.0/16'], expires_at: '2020-01-01T00:00:00Z' }),
    { id: 'no', action: 'deny', from: { any: true }, to: ['10.77.0.0/16'] },
  ]
  const resources = {
    wiki: { cidrs: ['10.1.0.0/24'], pool: 'A' },
    db: { cidrs: ['10.2.0.0/24', 'fd00:2::/64'], pool: 'A' },
    site: { dns: ['site.example'], cidrs: ['10.3.0.1/32'] },
  }
  const put = (settings: object) =>
    admin.publishPolicy({
      body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', resources, rules, settings } },
    })
  const tunnels = async () =>
    Object.fromEntries(
      (await device.fetchDirectory()).pools.map(({ name, mtu, dns, keepalive_seconds, routes, resources: to }) => [
        name,
        { mtu, dns, keepalive_seconds, routes, resources: to },
      ]),
    )

  await t.test('routes, resolvers, MTU and keepalive are those of policy and pool together', async () => {
    await put({ mtu: 1400 })
    await changeGatewayPool(admin, { params: { pool_id: b.pool.pool_id } }, { mtu: 1380, dns: ['10.9.0.53'] })
    assert.deepEqual(await tunnels(), {
      A: {
        mtu: 1400,
        dns: [],
        keepalive_seconds: 25,
        routes: ['10.1.0.0/24', '10.3.0.1/32'],
        resources: ['site', 'wiki'],
      },
      B: {
        mtu: 1380,
        dns: ['10.9.0.53'],
        keepalive_seconds: 25,
        routes: ['10.2.0.0/24', '10.3.0.1/32', '10.9.0.0/16', '10.9.0.53/32', 'fd00:2::/64'],
        resources: ['10.9.0.0/16', 'db', 'site'],
      },
    })
    await put({ split_tunnel: false, keepalive_seconds: 0, dns: { servers: ['10.1.0.53'] } })
    const everywhere = { dns: ['10.1.0.53'], keepalive_seconds: 0, routes: ['0.0.0.0/0', '::/0'] }
    const { A, B } = await tunnels()
    assert.deepEqual(
      [A, B].map((p) => ({ ...p, mtu: 0, resources: [] })),
      [1, 2].map(() => ({ mtu: 0, resources: [], ...everywhere })),
    )
  })
  await t.test('its number only grows, and what says the same is the same on every replica', async () => {
    const other = await open(1)
    await kit.heard()
    const [here, there] = [await device.fetchDirectory(), await other.fetchDirectory()]
    assert.deepEqual(here.pools, there.pools)
    assert.ok(here.expiresAt.getTime() - Date.now() > 12 * 3_600_000 - 60_000)
    assert.equal(here.expiresAt.getTime(), there.expiresAt.getTime())
    await admin.drainGateway({ params: { gateway_id: a.gateway.gateway_id }, body: { draining: true } })
    const after = await device.fetchDirectory()
    assert.ok(after.seq > here.seq)
    assert.deepEqual(after.pools.find((p) => p.name === 'A')?.gateways, [])
    await admin.drainGateway({ params: { gateway_id: a.gateway.gateway_id }, body: { draining: false } })
  })
  await t.test(
    'who waits hears at once of a key, a gateway that comes to life, and a policy, on any replica',
    async () => {
      const other = await open(1)
      for (const waiting of [device, other]) {
        const changes = [
          () => kit.clientFor(a.secret).identifyGateway({ body: { public_key: newWireguardKey() } }),
          () => put({ keepalive_seconds: 30 + (waiting === device ? 0 : 1) }),
          () =>
            changeGatewayPool(
              admin,
              { params: { pool_id: a.pool.pool_id } },
              { mtu: waiting === device ? 1300 : 1301 },
            ),
        ]
        for (const change of changes) {
          const before = await waiting.fetchDirectory()
          const held = waiting.fetchDirectory({ wait: 20 })
          const isWaiting = () => kit.replicas.reduce((n, r) => n + r.app.gateways.devicesWaiting(), 0) === 1
          await until(isWaiting, 'a held read')
          await changeSomethingElse(kit)
          await kit.heard()
          await until(isWaiting, 'a read that is held on')
          const from = performance.now()
          await change()
          assert.notDeepEqual((await held).pools, before.pools)
          assert.ok(performance.now() - from < promptly, `${performance.now() - from} ms`)
        }
      }
      await device.fetchDirectory()
      const held = device.fetchDirectory({ wait: 20 })
      await until(() => kit.app.gateways.devicesWaiting() === 1)
      await kit.clientFor(a.secret).heartbeat({ body: { boot_id: 'b', active_sessions: 0 } })
      assert.equal((await held).pools.find((p) => p.name === 'A')?.gateways[0]?.status, 'healthy')
    },
  )
  await t.test('at the end of a wait what was held is said to be unchanged', async () => {
    const before = await device.fetchDirectory()
    assert.equal(await device.fetchDirectory({ wait: 1 }), before)
  })
  await t.test('a warm read asks no database', async () => {
    await device.fetchDirectory()
    let scopes = 0
    const { query } = pg.Client.prototype
    pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
      if (JSON.stringify(given[0] ?? '').includes('holdfast.tenant')) scopes++
      return query.apply(this, given)
    } as typeof query
    t.after(() => {
      pg.Client.prototype.query = query
    })
    for (let i = 0; i < 20; i++) await device.fetchDirectory()
    // The gateways' last times are read every few seconds, whatever the requests, and the devices' are written
    // likewise.
    assert.ok(scopes <= 5, `${scopes} transactions in 20 reads`)
  })
  await t.test('a suspended device hears nothing, and its held read ends', async () => {
    const held = device.fetchDirectory({ wait: 20 })
    held.catch(() => {})
    await until(() => kit.app.gateways.devicesWaiting() === 1)
    await admin.changeDevice({ body: { operation: 'suspend', device_id: device.id } })
    await held.then(
      (directory) => assert.deepEqual(directory.pools, []),
      (e) => refused(401)(e),
    )
    await assert.rejects(device.fetchDirectory(), refused(401))
  })
})

test('who waits hears of a gateway that falls silent, and comes back, also by way of another replica', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const a = await withGateway(kit, 'a', 'A')
  const beat = () => kit.clientFor(a.secret, kit.replicas[0]).heartbeat({ body: { boot_id: 'b', active_sessions: 0 } })
  await publish(kit, [rule('all', { any: true })])
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollDevice({
    baseUrl: kit.publicUrl,
    token,
    dispatcher: kit.replicas[1]!.dispatcher,
    now: clock.now,
    device: { name: 'laptop', platform: 'linux' },
  })
  const statusOf = ({ pools }: GatewayDirectory) => pools[0]?.gateways.map(({ status }) => status)
  const waited = async (meanwhile: () => Promise<unknown> | undefined, wait = 20) => {
    const held = device.fetchDirectory({ wait })
    await until(() => kit.replicas[1]!.app.gateways.devicesWaiting() > 0)
    await meanwhile()
    return statusOf(await held)
  }
  await beat()
  await kit.heard()
  assert.deepEqual(statusOf(await device.fetchDirectory()), ['healthy'])
  const from = performance.now()
  assert.deepEqual(await waited(async () => clock.advance(31)), ['degraded'])
  assert.deepEqual(await waited(async () => clock.advance(30)), [])
  const comesBack = async () => {
    await beat()
    // Until this replica has read the changes of the other.
    clock.advance(6)
  }
  assert.deepEqual(await waited(comesBack), ['healthy'])
  assert.ok(performance.now() - from < 20_000, 'none of them waited for its end')
  const goesOnElsewhere = async () => {
    clock.advance(20)
    await beat()
    clock.advance(20)
  }
  const before = device.directory
  assert.deepEqual(await waited(goesOnElsewhere, 2), ['healthy'])
  assert.equal(device.directory, before, 'nobody is woken for what is only not known here')
})
