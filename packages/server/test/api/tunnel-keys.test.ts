import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProof, generateKey } from '@holdfast/crypto'
import { createClient } from '@holdfast/sdk'
import {
  enroll as enrollOne,
  newWireguardKey,
  open,
  payloadOf,
  publish,
  refused,
  region,
  rule,
  withGateway,
} from '../support/actors/gateways.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'

/** The u-coordinates of small order on Curve25519 and its twist, each with the encodings that reduce to it. */
const smallOrder = [
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  ...['ec', 'ed', 'ee'].map((first) => `${first}${'ff'.repeat(30)}7f`),
  ...['d9', 'da', 'db', 'ec', 'ed', 'ee'].map((first) => `${first}${'ff'.repeat(31)}`),
  `${'00'.repeat(31)}80`,
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b880',
]

test('a WireGuard key belongs to one device or gateway of a tenant', async (t) => {
  const kit = await startKit(t)
  const enroll = async (key: string | undefined, admin = kit.admin) => {
    const { secret: token } = await admin.generateToken({ body: {} })
    const { privateJwk } = generateKey('ES256')
    const connection = {
      baseUrl: kit.publicUrl,
      dispatcher: kit.dispatcher,
      prove: (method: string, url: string, accessToken: string) =>
        createProof(privateJwk, { method, url, accessToken, now: new Date() }),
    }
    const device = { name: 'laptop', platform: 'linux' as const, ...(key && { wireguard_public_key: key }) }
    const made = await createClient({ ...connection, credential: token }).enroll({ body: { device } })
    return { id: made.device_id, client: createClient({ ...connection, credential: made.credential }) }
  }
  const taken = refused(422, /wireguard_public_key.*another device/)
  const key = newWireguardKey()
  const first = await enroll(key)

  await t.test(
    'a second device with it is refused, alone and among others, and costs no use of its token',
    async () => {
      await assert.rejects(enroll(key), taken)
      const shared = newWireguardKey()
      const outcomes = await Promise.allSettled([...Array.from({ length: 5 }, () => enroll(shared)), enroll(undefined)])
      assert.equal(outcomes.filter((o) => o.status === 'fulfilled').length, 2)
      for (const o of outcomes) if (o.status === 'rejected') assert.ok(taken(o.reason))
      assert.equal((await times(3, () => enroll(undefined))).length, 3)
    },
  )
  await t.test("a renewal takes no other device's key, and may keep its own", async () => {
    const other = await enroll(newWireguardKey())
    await assert.rejects(other.client.renewCredential({ body: { wireguard_public_key: key } }), taken)
    await first.client.renewCredential({ body: { wireguard_public_key: key } })
  })
  await t.test(
    'what is no key of 32 bytes, of small order, or in another encoding than its own is refused',
    async () => {
      const { client, pool, gateway } = await withGateway(kit)
      const { gateway_id } = gateway
      const body = await kit.admin.getGateway({ params: { gateway_id } })
      const ways = {
        enrollment: (wrong: string) => enroll(wrong),
        renewal: (wrong: string) => first.client.renewCredential({ body: { wireguard_public_key: wrong } }),
        announcement: (wrong: string) => client.identifyGateway({ body: { public_key: wrong } }),
        creation: (wrong: string) =>
          kit.admin.createGateway({
            params: { pool_id: pool.pool_id },
            body: { name: 'x', endpoints: [], public_key: wrong },
          }),
        change: (wrong: string) =>
          kit.admin.updateGateway({ params: { gateway_id }, body: { ...body, public_key: wrong } }),
        approval: (wrong: string) => kit.admin.approveGateway({ params: { gateway_id }, body: { public_key: wrong } }),
      }
      const usable = newWireguardKey()
      const respelled = Buffer.from(usable, 'base64')
      respelled[31]! |= 0x80
      const points = [...smallOrder.map((hex) => Buffer.from(hex, 'hex')), respelled]
      const texts = ['not a key', 'A'.repeat(44), `${'A'.repeat(42)}B=`, usable.slice(0, -1), `${usable}\n`]
      for (const [way, bring] of Object.entries(ways))
        for (const wrong of [...texts, ...points.map((point) => point.toString('base64'))])
          await assert.rejects(bring(wrong), refused(422, /public_key/), `${way}: ${wrong}`)
    },
  )
  await t.test(
    "a key of a gateway is no device's and the other way round, by every way and at the same time",
    async () => {
      const [a, b] = [await withGateway(kit, 'key-a'), await withGateway(kit, 'key-b')]
      const approved = await kit.admin.createGatewayPool({
        body: { name: 'approved', region, requires_approval: true },
      })
      const waiting = await kit.admin.createGateway({
        params: { pool_id: approved.pool_id },
        body: { name: 'waiting', endpoints: [] },
      })
      const proposes = kit.clientFor(waiting.secret)
      const renewing = await enroll(newWireguardKey())
      const { gateway_id } = b.gateway
      const ways: Record<string, (key: string) => Promise<unknown>> = {
        enrollment: (key) => enroll(key),
        renewal: (key) => renewing.client.renewCredential({ body: { wireguard_public_key: key } }),
        announcement: (key) => a.client.identifyGateway({ body: { public_key: key } }),
        proposal: (key) => proposes.identifyGateway({ body: { public_key: key } }),
        creation: (key) =>
          kit.admin.createGateway({
            params: { pool_id: a.pool.pool_id },
            body: { name: `g ${key.slice(0, 8)}`, endpoints: [], public_key: key },
          }),
        change: async (key) =>
          kit.admin.updateGateway({
            params: { gateway_id },
            body: { ...(await kit.admin.getGateway({ params: { gateway_id } })), public_key: key },
          }),
      }
      const isTaken = refused(422, /public_key.*(another device|another gateway)/)
      for (const [way, bring] of Object.entries(ways)) {
        const its = newWireguardKey()
        await bring(its)
        for (const [other, brings] of Object.entries(ways))
          if (other !== way) await assert.rejects(brings(its), isTaken, `${way}, then ${other}`)
      }
      const both = await times(8, async (i) => {
        const disputed = newWireguardKey()
        const name = `raced-${i}`
        const outcomes = await Promise.allSettled([
          enroll(disputed),
          kit.admin.createGateway({
            params: { pool_id: a.pool.pool_id },
            body: { name, endpoints: [], public_key: disputed },
          }),
        ])
        return outcomes.filter((o) => o.status === 'fulfilled').length
      })
      assert.deepEqual(new Set(both), new Set([1]), 'of a device and a gateway at once one has the key')
    },
  )
  await t.test('another tenant may have it, and a revoked device gives it back', async () => {
    await enroll(key, await kit.as('tenant_admin', await kit.newTenant()))
    await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: first.id, reason: 'lost' } })
    await enroll(key)
  })
})

const atOnce = { inlineUpTo: 1000, perChunk: 1000 }
const inChunks = { inlineUpTo: 0, perChunk: 1 }

test('a device that renews with another WireGuard key has both for an hour', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now, snapshotSizes: [atOnce, inChunks] })
  const made = await withGateway(kit, 'a', 'A')
  const disk = { expression: 'disk.encrypted', enforcement: 'enforce' as const, freshness_seconds: 60 }
  const gated = { ...rule('gated', { any: true }), when: { posture: ['disk'] } }
  const plain = rule('all', { any: true })
  const publishTimed = () =>
    kit.admin.publishPolicy({
      body: {
        channel: 'stable',
        policy: { schema: 'holdfast.policy/1', rules: [plain, gated], posture_checks: { disk } },
      },
    })
  await publish(kit, [plain])
  const renewing = (wireguard_public_key: string) => enrollOne(kit, 'laptop', { now: clock.now, wireguard_public_key })
  const gateway = open(kit, made, clock.now)
  const keysIn = (from: typeof gateway, id: string) => from.state?.peers.get(id)?.wireguard_keys
  /**
   * The keys that a new gateway process receives: at the replica that sends all at once, and at the one that sends
   * chunks.
   */
  const anew = async (id: string) => {
    await kit.heard()
    return Promise.all(
      kit.replicas.map(async (replica) => {
        const fresh = open(kit, made, clock.now, replica)
        await fresh.pull()
        return keysIn(fresh, id)
      }),
    )
  }
  const inHour = () => new Date(clock.now().getTime() + 3600_000)

  await t.test('deltas and snapshots say both, and after the hour only the new one', async () => {
    const [old, fresh] = [newWireguardKey(), newWireguardKey()]
    const device = await renewing(old)
    const { id } = device
    await gateway.pull()
    assert.deepEqual(keysIn(gateway, id), [{ key: old, not_after: null }])
    await device.renew({ wireguard_public_key: fresh })
    const delta = await gateway.pull()
    assert.deepEqual([delta?.kind, delta?.peers], ['delta', [id]])
    const both = keysIn(gateway, id)!
    assert.deepEqual(
      both.map((k) => k.key),
      [fresh, old],
    )
    assert.equal(both[0]!.not_after, null)
    const end = Date.parse(both[1]!.not_after!)
    assert.ok(Math.abs(end - inHour().getTime()) < 60_000, both[1]!.not_after!)
    assert.deepEqual(await anew(id), [both, both])

    assert.equal(gateway.carrierOf(id), old)
    assert.deepEqual(gateway.noteHandshake(id, fresh)?.to, fresh)
    assert.equal(gateway.carrierOf(id), fresh)
    await device.renew()
    await gateway.pull()
    assert.deepEqual(keysIn(gateway, id), both, 'a renewal without a key changes none')

    clock.advance((end - clock.now().getTime()) / 1000 - 30)
    await gateway.pull()
    assert.equal(keysIn(gateway, id)?.length, 2)
    assert.deepEqual(await anew(id), [both, both])
    clock.advance(31)
    assert.deepEqual(keysIn(gateway, id), [both[0]], 'though nobody said so')
    await gateway.pull()
    assert.deepEqual(await anew(id), [[both[0]], [both[0]]])
    for (const replica of kit.replicas) {
      const { policy } = await kit.clientFor(made.secret, replica).unifiedPolicy({})
      const said = payloadOf(policy).peers as { device_id: string; wireguard_keys: object[] }[]
      for (const peer of said) if (peer.device_id === id) assert.deepEqual(peer.wireguard_keys, [both[0]])
    }
  })
  await t.test('where time is told of, the delta after the end names the device with the new one', async () => {
    await publishTimed()
    const [old, fresh] = [newWireguardKey(), newWireguardKey()]
    const device = await renewing(old)
    await device.renew({ wireguard_public_key: fresh })
    await gateway.pull()
    assert.equal(keysIn(gateway, device.id)?.length, 2)
    const known = { since: gateway.state!.seq, as_of: gateway.state!.generatedAt.toISOString() }
    clock.advance(3601)
    const { kind, policy } = await kit.clientFor(made.secret).unifiedPolicy({ query: known })
    assert.equal(kind, 'delta')
    const [peer] = payloadOf(policy).peers.filter((p: { device_id: string }) => p.device_id === device.id)
    assert.deepEqual(peer.wireguard_keys, [{ key: fresh, not_after: null }])
  })
  await t.test('nobody takes the old one before its end, nor does the device itself; then it is free', async () => {
    const [old, fresh] = [newWireguardKey(), newWireguardKey()]
    const device = await renewing(old)
    const other = await renewing(newWireguardKey())
    await device.renew({ wireguard_public_key: fresh })
    const again = { wireguard_public_key: old }
    const taken = refused(422, /wireguard_public_key.*given up/)
    await assert.rejects(renewing(old), taken)
    await assert.rejects(other.renew(again), taken)
    await assert.rejects(device.renew(again), taken)
    clock.advance(3601)
    await other.renew(again)
    await assert.rejects(renewing(old), taken)
  })
  await t.test('a renewal whose answer was lost brings another key: the one in use stays beside it', async () => {
    const [used, lost, last] = [newWireguardKey(), newWireguardKey(), newWireguardKey()]
    const device = await renewing(used)
    await device.client.renewCredential({ body: { wireguard_public_key: lost } })
    await device.client.renewCredential({ body: { wireguard_public_key: last } })
    await gateway.pull()
    assert.deepEqual(
      keysIn(gateway, device.id)?.map((k) => k.key),
      [last, used],
    )
    await renewing(lost)
  })
  await t.test('a revoked device gives both back', async () => {
    const [old, fresh] = [newWireguardKey(), newWireguardKey()]
    const device = await renewing(old)
    await device.renew({ wireguard_public_key: fresh })
    await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: device.id } })
    await renewing(old)
    await renewing(fresh)
  })
})
