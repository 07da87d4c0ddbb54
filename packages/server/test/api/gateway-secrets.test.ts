import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { mintToken, readToken } from '@holdfast/crypto'
import { sql } from 'kysely'
import { encodeId } from '../../src/kernel/ids.ts'
import { refused, withGateway } from '../support/actors/gateways.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'

test('gateway service secrets', async (t: TestContext) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now, replicas: 2 })
  const { admin } = kit
  const made = await withGateway(kit)
  const params = { gateway_id: made.gateway.gateway_id }
  const works = (secret: string, replica = kit.replicas[0]!) =>
    kit
      .clientFor(secret, replica)
      .heartbeat({ body: { boot_id: 'b', active_sessions: 0 } })
      .then(
        () => true,
        (e) => refused(401)(e) && false,
      )

  await t.test('it appears once, and is stored as a digest only', async () => {
    assert.equal(readToken(kit.peppers, made.secret)?.prefix, 'hfg')
    const { rows } = await kit.db.acrossTenants((tx) =>
      sql<{ t: string }>`select gateway_secrets::text t from gateway_secrets`.execute(tx),
    )
    assert.equal(rows.length, 1)
    assert.ok(!rows[0]!.t.includes(made.secret.slice(20)))
    assert.ok(!kit.logs.join().includes(made.secret))
  })
  await t.test('a minted secret of nobody is 401, and a device or key is 403', async () => {
    assert.equal(await works(mintToken(kit.peppers, 'hfg', kit.tenant).token), false)
    await assert.rejects(admin.heartbeat({ body: { boot_id: 'b', active_sessions: 0 } }), refused(403))
    await assert.rejects(made.client.listGatewayPools(), refused(403))
  })
  await t.test('a rotation leaves the old one valid until the first use of the new one, on every replica', async () => {
    const rotated = await admin.rotateGatewaySecret({ params })
    const inHours = (Date.parse(rotated.old_secret_valid_until) - clock.now().getTime()) / 3600_000
    assert.ok(inHours > 3.9 && inHours <= 4)
    for (const replica of kit.replicas) assert.equal(await works(made.secret, replica), true)
    const uses = await times(20, (i) => works(rotated.secret, kit.replicas[i % 2]))
    assert.deepEqual(new Set(uses), new Set([true]))
    assert.equal(await works(made.secret), false)
    made.secret = rotated.secret
  })
  await t.test('a rotation that nobody used ends the old one after four hours', async () => {
    const rotated = await admin.rotateGatewaySecret({ params })
    clock.advance(4 * 3600 - 5)
    assert.equal(await works(made.secret), true)
    clock.advance(10)
    assert.equal(await works(made.secret), false)
    assert.equal(await works(rotated.secret), true)
    made.secret = rotated.secret
  })
  await t.test('rotating twice drops the secret that nobody used, not the one in use', async () => {
    const lost = await admin.rotateGatewaySecret({ params })
    const second = await admin.rotateGatewaySecret({ params })
    assert.equal(second.old_secret_valid_until, lost.old_secret_valid_until)
    assert.equal(await works(lost.secret), false)
    assert.equal(await works(made.secret), true)
    assert.equal(await works(second.secret), true)
    assert.equal(await works(made.secret), false)
    made.secret = second.secret
  })
  await t.test('it speaks for no other gateway', async () => {
    const other = await withGateway(kit, 'other')
    const client = kit.clientFor(made.secret)
    const named = (gateway_id: string) =>
      client.unifiedPolicy({ query: { tenant_id: encodeId('tenant', kit.tenant), gateway_id } })
    await named(made.gateway.gateway_id)
    await assert.rejects(named(other.gateway.gateway_id), refused(403))
  })
  await t.test('the deployment-wide secret names tenant and gateway', async () => {
    const tool = kit.clientFor(kit.secrets.gatewayServiceSecrets[0]!)
    const query = { tenant_id: encodeId('tenant', kit.tenant), gateway_id: made.gateway.gateway_id }
    assert.equal((await tool.unifiedPolicy({ query })).kind, 'snapshot')
    await assert.rejects(tool.unifiedPolicy({}), refused(403, /tenant_id and gateway_id/))
    await assert.rejects(tool.unifiedPolicy({ query: { tenant_id: query.tenant_id } }), refused(403))
    const otherTenant = encodeId('tenant', await kit.newTenant())
    await assert.rejects(tool.unifiedPolicy({ query: { ...query, tenant_id: otherTenant } }), refused(404))
    await assert.rejects(tool.listGatewayPools(), refused(403))
  })
})
