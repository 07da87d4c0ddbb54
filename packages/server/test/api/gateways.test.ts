import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { changeGateway } from '@holdfast/sdk'
import {
  audited,
  enroll,
  newSession,
  newWireguardKey,
  refused,
  report,
  withGateway,
} from '../support/actors/gateways.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'

test('gateways', async (t: TestContext) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { admin } = kit
  const made = await withGateway(kit)
  const params = { gateway_id: made.gateway.gateway_id }

  await t.test('its status follows its silence', async () => {
    assert.equal(made.gateway.status, 'never_seen')
    const beat = await made.client.heartbeat({
      body: { boot_id: 'b', version: '1.0', active_sessions: 7, rx_bps: 5, applied: { policy_seq: 3 } },
    })
    assert.equal(beat.status, 'healthy')
    const seen = await admin.getGateway({ params })
    assert.deepEqual(
      [seen.status, seen.version, seen.active_sessions, seen.rx_bps, seen.applied.policy_seq],
      ['healthy', '1.0', 7, 5, 3],
    )
    clock.advance(31)
    assert.equal((await admin.getGateway({ params })).status, 'degraded')
    clock.advance(31)
    assert.equal((await admin.getGateway({ params })).status, 'down')
    await made.client.heartbeat({ body: { boot_id: 'b', active_sessions: 8 } })
    const again = await admin.getGateway({ params })
    assert.deepEqual([again.status, again.active_sessions, again.applied.policy_seq], ['healthy', 8, 3])
    await made.client.heartbeat({ body: { boot_id: 'c', active_sessions: 0 } })
    assert.equal((await admin.getGateway({ params })).applied.policy_seq, null)
  })
  await t.test('what keeps it from enforcing stands until it says that nothing does, or starts anew', async () => {
    const beat = (boot_id: string, apply_error?: { code: string; detail: string } | null) =>
      made.client.heartbeat({
        body: { boot_id, active_sessions: 0, ...(apply_error !== undefined && { apply_error }) },
      })
    const shown = async () => (await admin.getGateway({ params })).apply_error
    const failed = { code: 'apply_failed', detail: 'nft is not there' }
    await beat('c', failed)
    const at = (await shown())?.at
    assert.deepEqual(await shown(), { ...failed, at })
    assert.ok(Math.abs(Date.parse(at ?? '') - clock.now().getTime()) < 60_000)
    await beat('c')
    assert.deepEqual(await shown(), { ...failed, at })
    await beat('c', null)
    assert.equal(await shown(), null)
    await beat('c', failed)
    await beat('d')
    assert.equal(await shown(), null)
    const long = { code: 'apply_failed', detail: 'x'.repeat(513) }
    for (const wrong of [long, { code: 'Not a word', detail: 'x' }, { code: 'apply_failed', detail: '' }])
      await assert.rejects(beat('d', wrong), refused(422, /apply_error/))
  })
  await t.test('many heartbeats at once share their commits, and counters of any size are taken', async () => {
    await times(50, (i) =>
      made.client.heartbeat({ body: { boot_id: 'c', active_sessions: i, rx_bps: Number.MAX_SAFE_INTEGER } }),
    )
    assert.equal((await admin.getGateway({ params })).rx_bps, Number.MAX_SAFE_INTEGER)
    await made.client.heartbeat({ body: { boot_id: 'c', active_sessions: Number.MAX_SAFE_INTEGER } })
  })
  await t.test('draining is idempotent and reversible', async () => {
    const drain = (draining: boolean) => admin.drainGateway({ params, body: { draining, reason: 'kernel update' } })
    const first = await drain(true)
    assert.deepEqual([first.changed, first.gateway.status], [true, 'draining'])
    assert.match(first.gateway.status_reason, /kernel update/)
    assert.equal((await drain(true)).changed, false)
    assert.equal((await made.client.heartbeat({ body: { boot_id: 'c', active_sessions: 0 } })).status, 'draining')
    assert.equal((await drain(false)).gateway.status, 'healthy')
    assert.equal((await audited(kit, 'gateway.drained')).length, 2)
  })
  await t.test('how its machine does is shown as it said last, until it starts anew', async () => {
    const system = {
      cpu_percent: 12.5,
      memory_used_bytes: 2 ** 30,
      memory_total_bytes: 2 ** 32,
      interface: { rx_bytes: 10, tx_bytes: 20, rx_packets: 1, tx_packets: 2, rx_dropped: 0, tx_dropped: 0 },
    }
    const beat = (boot_id: string, more: object = {}) =>
      made.client.heartbeat({ body: { boot_id, active_sessions: 0, ...more } })
    const shown = async () => (await admin.getGateway({ params })).system
    await beat('m', { system })
    assert.deepEqual(await shown(), system)
    await beat('m')
    assert.deepEqual(await shown(), system)
    await beat('n')
    assert.equal(await shown(), null)
    await assert.rejects(beat('n', { system: { cpu_percent: 101 } }), refused(422, /cpu_percent/))
  })
  await t.test('a change keeps what it does not name; a taken name is refused', async () => {
    const changed = await changeGateway(admin, { params }, { weight: 5 })
    assert.deepEqual([changed.name, changed.weight, changed.public_key], ['g1', 5, made.gateway.public_key])
    const pool = { pool_id: made.pool.pool_id }
    await admin.createGateway({ params: pool, body: { name: 'g2' } })
    await assert.rejects(admin.createGateway({ params: pool, body: { name: 'G2' } }), refused(422, /name/))
    await assert.rejects(changeGateway(admin, { params }, { name: 'g2' }), refused(422, /name/))
    assert.deepEqual(
      (await admin.listGateways({ params: pool })).items.map((g) => g.name),
      ['g1', 'g2'],
    )
  })
  await t.test('its key is 32 bytes in base64 and of no other gateway', async () => {
    const pool = { pool_id: made.pool.pool_id }
    const { public_key } = made.gateway
    for (const wrong of ['not a key', `${'A'.repeat(43)}`, `${'A'.repeat(42)}B=`, `${'A'.repeat(44)}`])
      await assert.rejects(
        admin.createGateway({ params: pool, body: { name: 'keyed', public_key: wrong } }),
        refused(422, /public_key/),
      )
    const taken = refused(422, /public_key.*another gateway/)
    await assert.rejects(admin.createGateway({ params: pool, body: { name: 'keyed', public_key } }), taken)
    const other = await admin.createGateway({ params: pool, body: { name: 'keyed', public_key: newWireguardKey() } })
    const otherParams = { gateway_id: other.gateway.gateway_id }
    await assert.rejects(changeGateway(admin, { params: otherParams }, { public_key }), taken)
    const elsewhere = await kit.as('tenant_admin', await kit.newTenant())
    const theirs = await elsewhere.createGatewayPool({ body: { name: 'P', region: { code: 'x' } } })
    await elsewhere.createGateway({ params: { pool_id: theirs.pool_id }, body: { name: 'same', public_key } })
  })
  await t.test('another tenant has no such gateway', async () => {
    const other = await kit.as('tenant_admin', await kit.newTenant())
    await assert.rejects(other.getGateway({ params }), refused(404))
    await assert.rejects(changeGateway(other, { params }, { weight: 1 }), refused(404))
    await assert.rejects(other.rotateGatewaySecret({ params }), refused(404))
    await assert.rejects(other.drainGateway({ params, body: { draining: true } }), refused(404))
    await assert.rejects(other.deleteGateway({ params }), refused(404))
  })
  await t.test('the gateways of all pools are one list, with filters that paging keeps', async () => {
    const tenant = await kit.newTenant()
    const client = await kit.as('tenant_admin', tenant)
    const pools = await times(2, (i) =>
      client.createGatewayPool({ body: { name: `Pool ${i}`, region: { code: 'x' } } }),
    )
    const create = async (name: string, pool: number) => {
      const { gateway, secret } = await client.createGateway({
        params: { pool_id: pools[pool]!.pool_id },
        body: { name },
      })
      const own = kit.clientFor(secret)
      const beat = (version: string) => own.heartbeat({ body: { boot_id: 'b', version, active_sessions: 3 } })
      return { ...gateway, beat }
    }
    const gateways = []
    for (const [name, pool] of [
      ['Zeta', 0],
      ['alpha 1', 1],
      ['alpha 2', 0],
      ['beta', 1],
      ['new', 1],
    ] as const) {
      gateways.push(await create(name, pool))
      clock.advance(1)
    }
    const [zeta, alpha1, alpha2, beta] = gateways as [(typeof gateways)[0], ...typeof gateways]
    await zeta.beat('2.0')
    await alpha1!.beat('1.0')
    clock.advance(40)
    await alpha2!.beat('1.0')
    await beta!.beat('1.0')
    await client.drainGateway({ params: { gateway_id: beta!.gateway_id }, body: { draining: true } })

    type Query = NonNullable<NonNullable<Parameters<typeof client.listAllGateways>[0]>['query']>
    const reader = await kit.as('viewer', tenant)
    /** Page by page. */
    const names = async (query: Query = {}, limit = 200) => {
      const found: string[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await reader.listAllGateways({ query: { ...query, limit, ...(cursor && { cursor }) } })
        assert.ok(page.items.length <= limit)
        found.push(...page.items.map((g) => g.name))
        cursor = page.next_cursor
      }
      return found
    }
    const rows: [Query, string[]][] = [
      [{}, ['alpha 1', 'alpha 2', 'beta', 'new', 'Zeta']],
      [{ sort: '-name' }, ['Zeta', 'new', 'beta', 'alpha 2', 'alpha 1']],
      [{ sort: 'created_at' }, ['Zeta', 'alpha 1', 'alpha 2', 'beta', 'new']],
      [{ sort: '-created_at' }, ['new', 'beta', 'alpha 2', 'alpha 1', 'Zeta']],
      [{ pool_id: pools[1]!.pool_id }, ['alpha 1', 'beta', 'new']],
      [{ pool_id: made.pool.pool_id }, []],
      [{ status: 'healthy' }, ['alpha 2']],
      [{ status: 'degraded' }, ['alpha 1', 'Zeta']],
      [{ status: 'degraded', sort: '-name' }, ['Zeta', 'alpha 1']],
      [{ status: 'draining' }, ['beta']],
      [{ status: 'never_seen' }, ['new']],
      [{ status: 'down' }, []],
      [{ status: 'pending' }, []],
      [{ version: '1.0' }, ['alpha 1', 'alpha 2', 'beta']],
      [{ version: '1' }, []],
      [{ q: 'ALPHA' }, ['alpha 1', 'alpha 2']],
      [{ q: 'z' }, ['Zeta']],
      [{ q: 'pha' }, []],
      [{ q: 'a', version: '1.0', status: 'degraded', pool_id: pools[1]!.pool_id, sort: '-created_at' }, ['alpha 1']],
    ]
    for (const [query, wanted] of rows)
      for (const limit of [2, 200]) assert.deepEqual(await names(query, limit), wanted, JSON.stringify(query))

    const { items, next_cursor } = await client.listAllGateways({ query: { limit: 2 } })
    assert.deepEqual(items[0], {
      ...(await client.getGateway({ params: { gateway_id: alpha1!.gateway_id } })),
      pool_name: 'Pool 1',
    })
    const cursor = next_cursor!
    for (const query of [{ sort: '-name' as const }, { status: 'healthy' as const }, { q: 'a' }])
      await assert.rejects(client.listAllGateways({ query: { ...query, cursor } }), refused(400, /cursor/))
    await assert.rejects(admin.listAllGateways({ query: { cursor } }), refused(400, /cursor/))
    // A gateway that falls silent between two pages does not change its position in the order.
    clock.advance(30)
    await alpha2!.beat('1.0')
    const rest = await client.listAllGateways({ query: { cursor } })
    assert.deepEqual(
      rest.items.map((g) => [g.name, g.status]),
      [
        ['beta', 'draining'],
        ['new', 'never_seen'],
        ['Zeta', 'down'],
      ],
    )
    await client.deleteGateway({ params: { gateway_id: beta!.gateway_id } })
    assert.deepEqual(await names({ version: '1.0' }), ['alpha 1', 'alpha 2'])
  })
  await t.test('deleting ends its secret and its sessions, once', async () => {
    const device = await enroll(kit, 'laptop', { now: clock.now })
    const session_id = newSession()
    const at = clock.now().toISOString()
    const body = report([{ session_id, device_id: device.id, state: 'active', rx_bytes: 1, tx_bytes: 1 }], {
      interval_start: at,
      interval_end: at,
    })
    await made.client.metering({ body })
    assert.deepEqual(await admin.deleteGateway({ params }), { changed: true })
    assert.deepEqual(await admin.deleteGateway({ params }), { changed: false })
    await assert.rejects(made.client.heartbeat({ body: { boot_id: 'c', active_sessions: 0 } }), refused(401))
    const session = await admin.getSession({ params: { session_id } })
    assert.deepEqual([session.state, session.end_reason], ['ended', 'gateway_down'])
    await assert.rejects(admin.getGateway({ params }), refused(404))
    assert.equal((await audited(kit, 'gateway.deleted')).length, 1)
    await admin.createGateway({ params: { pool_id: made.pool.pool_id }, body: { name: 'g1' } })
  })
})
