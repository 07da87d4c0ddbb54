import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { changeGatewayPool } from '@holdfast/sdk'
import { encodeId, newUuid } from '../../src/kernel/ids.ts'
import { audited, publish, refused, region, rule, seqOf } from '../support/actors/gateways.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

test('gateway pools', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const pool = await admin.createGatewayPool({
    body: { name: 'Frankfurt', region, capacity: 500, dns: ['10.8.0.53', 'FD00:0:0::53'] },
  })

  await t.test('what is not said has defaults, and what was said is given back', async () => {
    assert.deepEqual(await admin.getGatewayPool({ params: { pool_id: pool.pool_id } }), pool)
    const { pool_id, tenant_id, created_at, updated_at, ...set } = pool
    assert.deepEqual(set, {
      name: 'Frankfurt',
      region,
      protocol: 'wireguard',
      selection: 'latency',
      enabled: true,
      capacity: 500,
      health_threshold: 1,
      nat: 'masquerade',
      mtu: 1420,
      dns: ['10.8.0.53', 'fd00::53'],
      fail_mode: 'closed',
      lifetime_seconds: 900,
      requires_approval: false,
      gateways: 0,
    })
  })
  await t.test('what is out of bounds is refused by its name, and no address by its position', async () => {
    const wrong: [string, unknown][] = [
      ['mtu', 1279],
      ['mtu', 9001],
      ['lifetime_seconds', 119],
      ['lifetime_seconds', 86_401],
      ['nat', 'both'],
      ['fail_mode', 'ajar'],
      ['dns', Array(9).fill('10.0.0.1')],
    ]
    for (const [field, value] of wrong)
      await assert.rejects(
        admin.createGatewayPool({ body: { name: 'x', region, [field]: value } }),
        refused(422, new RegExp(field)),
      )
    await assert.rejects(
      changeGatewayPool(admin, { params: { pool_id: pool.pool_id } }, { dns: ['10.0.0.1', 'resolver.example'] }),
      refused(422, /dns\[1\]/),
    )
  })
  await t.test('a number that no column holds is refused, not an error of the server', () =>
    assert.rejects(
      admin.createGatewayPool({ body: { name: 'x', region, health_threshold: 2 ** 40 } }),
      refused(422, /health_threshold/),
    ),
  )
  await t.test('a name is taken whatever its case, at creation and at a change', async () => {
    await assert.rejects(admin.createGatewayPool({ body: { name: 'frankfurt', region } }), refused(422, /name/))
    const other = await admin.createGatewayPool({ body: { name: 'Oslo', region } })
    const params = { pool_id: other.pool_id }
    await assert.rejects(changeGatewayPool(admin, { params }, { name: 'FRANKFURT' }), refused(422, /name/))
    assert.deepEqual(await admin.deleteGatewayPool({ params }), { changed: true })
    assert.deepEqual(await admin.deleteGatewayPool({ params }), { changed: false }, 'what holds already')
    const never = { pool_id: encodeId('gateway_pool', newUuid()) }
    await assert.rejects(admin.deleteGatewayPool({ params: never }), refused(404))
    const elsewhere = await kit.as('tenant_admin', await kit.newTenant())
    await assert.rejects(elsewhere.deleteGatewayPool({ params }), refused(404), 'of another tenant')
  })
  await t.test(
    'a change keeps what it does not name, records what it changed, and nothing when nothing changed',
    async () => {
      const params = { pool_id: pool.pool_id }
      const changed = await changeGatewayPool(admin, { params }, { capacity: null, enabled: false })
      assert.deepEqual(changed, { ...pool, capacity: null, enabled: false, updated_at: changed.updated_at })
      const before = await seqOf(kit)
      await changeGatewayPool(admin, { params }, { enabled: false, region: { ...region } })
      assert.equal(await seqOf(kit), before)
      const events = await audited(kit, 'gateway_pool.updated')
      assert.equal(events.filter((e) => e.outcome === 'success').length, 1)
      assert.deepEqual(events[0]?.changes, { capacity: [500, null], enabled: [true, false] })
    },
  )
  await t.test('it is not deleted while it has gateways or the policy names it', async () => {
    const params = { pool_id: pool.pool_id }
    const { gateway } = await admin.createGateway({ params, body: { name: 'a' } })
    assert.equal((await admin.getGatewayPool({ params })).gateways, 1)
    await assert.rejects(admin.deleteGatewayPool({ params }), refused(422, /1 gateways/))
    await admin.deleteGateway({ params: { gateway_id: gateway.gateway_id } })
    await publish(kit, [rule('through-frankfurt', { any: true }, ['Frankfurt'])])
    await assert.rejects(admin.deleteGatewayPool({ params }), refused(422, /through-frankfurt/))
    await publish(kit, [])
    assert.deepEqual(await admin.deleteGatewayPool({ params }), { changed: true })
  })
  await t.test('lists are paged in order', async () => {
    await times(5, (i) => admin.createGatewayPool({ body: { name: `p${i}`, region } }))
    const names: string[] = []
    let cursor: string | undefined
    do {
      const page = await admin.listGatewayPools({ query: { limit: 2, sort: '-name', ...(cursor && { cursor }) } })
      names.push(...page.items.map((p) => p.name))
      cursor = page.next_cursor ?? undefined
    } while (cursor)
    assert.deepEqual(names, ['p4', 'p3', 'p2', 'p1', 'p0'])
  })
  await t.test('another tenant sees and changes none of it', async () => {
    const other = await kit.as('tenant_admin', await kit.newTenant())
    const params = { pool_id: (await admin.listGatewayPools()).items[0]!.pool_id }
    assert.deepEqual((await other.listGatewayPools()).items, [])
    await assert.rejects(other.getGatewayPool({ params }), refused(404))
    await assert.rejects(changeGatewayPool(other, { params }, { name: 'mine' }), refused(404))
    await assert.rejects(other.deleteGatewayPool({ params }), refused(404))
    await assert.rejects(other.createGateway({ params, body: { name: 'mine' } }), refused(404))
    await assert.rejects(other.listGateways({ params }), refused(404))
  })
})
