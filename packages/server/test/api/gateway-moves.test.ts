import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { newUuid } from '../../src/kernel/ids.ts'
import { enroll, open, withGateway } from '../support/actors/gateways.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

const count = 1000

test('a publish that moves whole variants says so once', async (t: TestContext) => {
  const kit = await startKit(t)
  const pool = await withGateway(kit, 'a', 'A')
  const params = { pool_id: pool.pool.pool_id }
  const others = await times(2, (i) => kit.admin.createGateway({ params, body: { name: `a${i}` } }))
  const [first, second] = await times(2, (i) => enroll(kit, `device ${i}`, { tags: [`t${i}`] }))
  // A fleet like the first two, without a thousand enrollments.
  await kit.db.inTenant(kit.tenant, (tx) =>
    sql`insert into devices (tenant_id, device_id, name, platform, status, tags, address_number, credential_expires_at,
        credential_renew_after, enrolled_method)
      select tenant_id, id, 'device ' || n, platform, status, array['t' || n % 2], 1000 + n, credential_expires_at,
        credential_renew_after, enrolled_method
      from devices, unnest(${Array.from({ length: count - 2 }, newUuid)}::uuid[]) with ordinality as made (id, n)
      where name = 'device 0'`.execute(tx),
  )
  const document = (port: number, extra: object[] = []) => ({
    schema: 'holdfast.policy/1',
    resources: { wiki: { cidrs: ['10.0.0.0/24'] } },
    rules: [
      { id: 'wiki', action: 'allow', from: { any: true }, to: ['wiki'], ports: [`tcp/${port}`] },
      { id: 'odd', action: 'allow', from: { tags: ['t1'] }, to: ['10.9.0.0/16'] },
      ...extra,
    ],
  })
  const publish = (policy: object) =>
    kit.admin.publishPolicy({ body: { channel: 'stable', policy: policy as Record<string, unknown> } })
  await publish(document(443))
  const replica = await kit.startReplica()
  const made = [pool, ...others].map((g) => ({ gateway: g.gateway, secret: g.secret }))
  const at = { ...kit, dispatcher: replica.dispatcher }
  const gateways = made.map((g) => open(at, g))
  for (const gateway of gateways) {
    await gateway.pull()
    assert.equal(gateway.state?.peers.size, count)
    assert.equal(gateway.state.variants.size, 2)
  }
  /** Pulls once, after the replica has read all changes. */
  const pull = async (gateway: (typeof gateways)[number]) => {
    await kit.heard()
    return gateway.pull()
  }
  const sizes: number[] = []
  replica.app.http.server.prependListener('request', (request, response) => {
    const end = response.end.bind(response)
    const kept = (...args: Parameters<typeof end>) => {
      if (request.url?.includes('unified-policy')) sizes.push(Buffer.byteLength((args[0] as Buffer | string) ?? ''))
      return end(...args)
    }
    response.end = kept as typeof response.end
  })
  const agree = async (gateway: (typeof gateways)[number]) => {
    const fresh = open(at, made[0]!)
    await fresh.pull()
    const sorted = (g: typeof fresh) => [...g.state!.peers].sort(([a], [b]) => (a < b ? -1 : 1))
    assert.deepEqual(sorted(gateway), sorted(fresh))
    assert.deepEqual([...gateway.state!.variants.keys()].sort(), [...fresh.state!.variants.keys()].sort())
  }

  await t.test('one port of one rule: at most 5 KB for each gateway, and the state of a fresh snapshot', async () => {
    await publish(document(8443))
    for (const gateway of gateways) {
      const change = await pull(gateway)
      assert.deepEqual([change?.kind, change?.moved.length, change?.peers], ['delta', 2, []])
    }
    t.diagnostic(`${count} devices, ${gateways.length} gateways: ${sizes.join(', ')} bytes`)
    assert.equal(sizes.length, gateways.length)
    assert.ok(Math.max(...sizes) <= 5 * 1024, sizes.join())
    for (const gateway of gateways) await agree(gateway)
  })
  await t.test('the few that go elsewhere, and those that changed themselves, are named', async () => {
    await kit.admin.changeDevice({
      body: { operation: 'update', device_id: first!.id, device: { tags: ['t0', 'special'] } },
    })
    await kit.admin.changeDevice({ body: { operation: 'suspend', device_id: second!.id } })
    const special = { id: 'special', action: 'allow', from: { tags: ['special'] }, to: ['10.8.0.0/16'] }
    await publish(document(443, [special]))
    const change = await pull(gateways[0]!)
    assert.deepEqual([change?.peers, change?.revokedDevices, change?.moved.length], [[first!.id], [second!.id], 2])
    await agree(gateways[0]!)
    await publish(document(443))
    const back = await pull(gateways[0]!)
    assert.deepEqual([back?.peers, back?.moved.length], [[], 1])
    await agree(gateways[0]!)
  })
})
