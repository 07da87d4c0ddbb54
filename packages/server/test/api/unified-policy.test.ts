import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Gateway } from '@holdfast/sdk'
import { changeGateway, changeGatewayPool } from '@holdfast/sdk'
import { encodeId, newUuid } from '../../src/kernel/ids.ts'
import {
  changeSomethingElse,
  enroll,
  newSession,
  open,
  publish,
  refused,
  report,
  rule,
  withGateway,
} from '../support/actors/gateways.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { promptly, until } from '../support/deployment/wait-until.ts'

test('unified policy', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin } = kit
  const [a, b] = [await withGateway(kit, 'a', 'A'), await withGateway(kit, 'b', 'B')]
  const devices = await times(3, (i) => enroll(kit, `device ${i}`, { tags: [`t${i}`] }))
  const ids = devices.map((d) => d.id)
  const forA = (tag: string) => rule(`a-${tag}`, { tags: [tag] }, ['A'])
  await publish(kit, [forA('t0'), forA('t1'), rule('b', { tags: ['t1', 't2'] }, ['B'])])
  const [gatewayA, gatewayB] = [open(kit, a), open(kit, b)]
  const peersOf = (g: Gateway) => [...(g.state?.peers.keys() ?? [])].sort()
  const change = (operation: 'suspend' | 'reactivate' | 'revoke', i: number) =>
    admin.changeDevice({ body: { operation, device_id: ids[i]! } })

  await t.test('a snapshot holds the peers of the own pool with what they may reach', async () => {
    await gatewayA.pull()
    await gatewayB.pull()
    assert.deepEqual(peersOf(gatewayA), [ids[0], ids[1]].sort())
    assert.deepEqual(peersOf(gatewayB), [ids[1], ids[2]].sort())
    const peer = gatewayA.state?.peers.get(ids[0]!)
    assert.equal(peer?.addresses.length, 2)
    const digest = (await devices[0]!.client.policyDigest()).digest
    assert.equal(peer?.variant, digest)
    assert.deepEqual(
      gatewayA.state?.variants.get(digest)?.rules.map((r) => r.id),
      ['a-t0'],
    )
    const life = (gatewayA.state!.expiresAt.getTime() - Date.now()) / 60_000
    assert.ok(life > 14 && life <= 15)
  })
  await t.test('a gateway refuses what is for another one', async () => {
    const { policy } = await b.client.unifiedPolicy({})
    const payload = JSON.parse(Buffer.from(policy.split('.')[1]!, 'base64url').toString())
    assert.deepEqual(
      [payload.gateway_id, payload.tenant_id, payload.pool_id],
      [b.gateway.gateway_id, encodeId('tenant', kit.tenant), b.pool.pool_id],
    )
  })
  await t.test('a delta names what was touched, each device once, and revocations first', async () => {
    await change('suspend', 0)
    await change('reactivate', 0)
    await change('suspend', 1)
    const delta = await gatewayA.pull()
    assert.deepEqual(delta, {
      kind: 'delta',
      seq: delta?.seq,
      moved: [],
      peers: [ids[0]],
      removedPeers: [],
      revokedDevices: [ids[1]],
      revokedSessions: [],
    })
    assert.deepEqual(peersOf(gatewayA), [ids[0]])
    await change('reactivate', 1)
    await gatewayA.pull()
    assert.deepEqual(peersOf(gatewayA), [ids[0], ids[1]].sort())
    assert.equal(await gatewayA.pull(), null)
  })
  await t.test('a publish touches the devices whose variant it changed, and no other', async () => {
    await gatewayA.pull()
    await publish(kit, [forA('t0'), forA('t2'), rule('b', { tags: ['t1', 't2'] }, ['B'])])
    const delta = await gatewayA.pull()
    assert.deepEqual([delta?.kind, delta?.peers, delta?.removedPeers], ['delta', [ids[2]], [ids[1]]])
    assert.deepEqual(peersOf(gatewayA), [ids[0], ids[2]].sort())
  })
  await t.test('terminated sessions and the sessions of suspended devices are cut', async () => {
    await gatewayA.pull()
    const sessions = [newSession(), newSession()]
    const samples = sessions.map((session_id, i) => ({
      session_id,
      device_id: ids[i * 2],
      state: 'active',
      rx_bytes: 0,
      tx_bytes: 0,
    }))
    await a.client.metering({ body: report(samples) })
    await admin.terminateSessions({ body: { operation: 'terminate', session_ids: [sessions[0]!] } })
    const first = await gatewayA.pull()
    assert.deepEqual([first?.kind, first?.revokedSessions], ['delta', [sessions[0]]])
    await change('suspend', 2)
    await change('reactivate', 2)
    const second = await gatewayA.pull()
    assert.deepEqual([second?.peers, second?.revokedSessions.includes(sessions[1]!)], [[ids[2]], true])
    const fresh = open(kit, a)
    await fresh.pull()
    assert.ok(sessions.every((s) => fresh.state?.revokedSessions.has(s)))
  })
  await t.test('suspending a user revokes its devices, and a change of its groups moves them', async () => {
    const changeUser = (body: object) => admin.changeUser({ body: body as { operation: 'create' } })
    const { user } = await changeUser({ operation: 'create', user: { username: 'ada' } })
    const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'engineers' } } })
    const laptop = await enroll(kit, "ada's laptop", { user_id: user.user_id })
    await publish(kit, [forA('t0'), forA('t2'), rule('engineers', { groups: ['engineers'] }, ['A'])])
    await gatewayA.pull()
    assert.ok(!peersOf(gatewayA).includes(laptop.id))
    const member = (group_fields: object) =>
      admin.changeGroup({ body: { operation: 'update', group_id: group.group_id, group: group_fields } })
    await member({ add_members: [user.user_id] })
    assert.deepEqual((await gatewayA.pull())?.peers, [laptop.id])
    await changeUser({ operation: 'suspend', user_id: user.user_id })
    assert.deepEqual((await gatewayA.pull())?.revokedDevices, [laptop.id])
    await changeUser({ operation: 'reactivate', user_id: user.user_id })
    assert.deepEqual((await gatewayA.pull())?.peers, [laptop.id])
    await member({ remove_members: [user.user_id] })
    assert.deepEqual((await gatewayA.pull())?.removedPeers, [laptop.id])
    await publish(kit, [forA('t0'), forA('t2'), rule('b', { tags: ['t1', 't2'] }, ['B'])])
    await gatewayA.pull()
  })
  await t.test('a disabled pool has no peers', async () => {
    const params = { pool_id: a.pool.pool_id }
    await changeGatewayPool(admin, { params }, { enabled: false })
    await gatewayA.pull()
    assert.deepEqual(peersOf(gatewayA), [])
    await changeGatewayPool(admin, { params }, { enabled: true })
    await gatewayA.pull()
    assert.deepEqual(peersOf(gatewayA), [ids[0], ids[2]].sort())
  })
  await t.test('a since that the log does not reach, or that never was, is answered by a snapshot', async () => {
    assert.equal((await a.client.unifiedPolicy({ query: { since: 1_000_000 } })).kind, 'snapshot')
    const { seq } = await a.client.unifiedPolicy({})
    await changeSomethingElse(kit)
    assert.equal((await a.client.unifiedPolicy({ query: { since: seq } })).kind, 'delta')
    await kit.db.inTenant(kit.tenant, (tx) => tx.deleteFrom('changes').where('seq', '<=', seq).execute())
    await changeGateway(admin, { params: { gateway_id: a.gateway.gateway_id } }, { weight: 7 })
    assert.equal((await a.client.unifiedPolicy({ query: { since: seq - 1 } })).kind, 'snapshot')
    assert.equal((await a.client.unifiedPolicy({ query: { since: seq } })).kind, 'delta')
  })
  await t.test('a held request is answered as soon as something concerns its gateway, on any replica', async () => {
    for (const replica of kit.replicas) {
      const client = kit.clientFor(a.secret, replica)
      await kit.heard()
      const { seq } = await client.unifiedPolicy({})
      const held = client.unifiedPolicy({ query: { since: seq } }, { wait: 20 })
      const isWaiting = () => replica.app.gateways.waiting() === 1
      await until(isWaiting, 'a held request')
      await changeSomethingElse(kit)
      await kit.heard()
      await until(isWaiting, 'a request that is held on')
      const changedAt = performance.now()
      await change('suspend', 0)
      const answer = await held
      assert.equal(answer.kind, 'delta')
      assert.ok(answer.seq > seq)
      assert.ok(performance.now() - changedAt < promptly, `${performance.now() - changedAt} ms`)
      await change('reactivate', 0)
      assert.equal(replica.app.gateways.waiting(), 0)
    }
  })
  await t.test('at the end of the wait an empty delta renews the end of what is held', async () => {
    const { seq } = await a.client.unifiedPolicy({})
    const startedAt = performance.now()
    const held = a.client.unifiedPolicy({ query: { since: seq } }, { wait: 1 })
    await changeSomethingElse(kit)
    const answer = await held
    assert.ok(performance.now() - startedAt >= 950)
    assert.deepEqual([answer.kind, answer.base_seq], ['delta', seq])
    assert.ok(answer.seq > seq)
  })
  await t.test('whatever happens, and on whichever replica, deltas lead to what a snapshot says', async () => {
    const extra = await times(8, (i) => enroll(kit, `extra ${i}`, { tags: [`t${i % 3}`] }))
    const stop = new AbortController()
    const puller = open(kit, a)
    let deltas = 0
    const pulling = puller.runPulling({
      signal: stop.signal,
      wait: 2,
      onChange: (c) => void (c.kind === 'delta' && deltas++),
    })
    const admins = kit.replicas.map((r) => kit.clientFor(kit.adminKey, r))
    await times(4, async (worker) => {
      for (let step = 0; step < 12; step++) {
        const device = extra[(worker * 5 + step * 3) % extra.length]!
        const client = admins[(worker + step) % admins.length]!
        const tags = [`t${(worker + step) % 3}`]
        const turn = (worker + step) % 4
        if (turn === 0) await changeSomethingElse(kit)
        else if (turn === 1)
          await client.changeDevice({ body: { operation: 'update', device_id: device.id, device: { tags } } })
        else
          await client.changeDevice({
            body: { operation: turn === 2 ? 'suspend' : 'reactivate', device_id: device.id },
          })
      }
    })
    await kit.heard()
    const fresh = open(kit, a)
    await fresh.pull()
    // Its last state, or the end of its wait.
    await until(() => (puller.state?.seq ?? 0) >= fresh.state!.seq, 'the newest number')
    stop.abort()
    await pulling
    assert.ok(deltas > 3, `${deltas} deltas`)
    assert.deepEqual(peersOf(puller), peersOf(fresh))
    for (const [id, peer] of fresh.state!.peers) assert.deepEqual(puller.state?.peers.get(id), peer)
    assert.deepEqual([...puller.state!.variants.keys()].sort(), [...fresh.state!.variants.keys()].sort())
  })
  await t.test('a client that goes is let go, and a deleted gateway is answered 401 at once', async () => {
    const { seq } = await b.client.unifiedPolicy({})
    const gone = new AbortController()
    const held = b.client.unifiedPolicy({ query: { since: seq } }, { wait: 20, signal: gone.signal })
    await until(() => kit.app.gateways.waiting() === 1)
    gone.abort()
    await assert.rejects(held)
    await until(() => kit.app.gateways.waiting() === 0)

    const again = b.client.unifiedPolicy({ query: { since: seq } }, { wait: 20 })
    again.catch(() => {})
    await until(() => kit.app.gateways.waiting() === 1)
    await admin.deleteGateway({ params: { gateway_id: b.gateway.gateway_id } })
    await assert.rejects(again, refused(401))
  })
  await t.test("a device's bundle, for its gateway", async () => {
    const bundle = (device_id: string) => a.client.gatewayPolicyBundle({ query: { device_id } })
    const digest = (await devices[0]!.client.policyDigest()).digest
    assert.equal((await bundle(ids[0]!)).digest, digest)
    await assert.rejects(bundle(encodeId('device', newUuid())), refused(404))
    await assert.rejects(bundle('nonsense'), refused(400))
    const elsewhere = await enroll(kit, 'laptop', { admin: await kit.as('tenant_admin', await kit.newTenant()) })
    await assert.rejects(bundle(elsewhere.id), refused(404))
    await change('suspend', 0)
    await assert.rejects(bundle(ids[0]!), refused(404))
    await change('reactivate', 0)
    assert.equal((await bundle(ids[0]!)).digest, digest)
  })
  await t.test('a shutdown answers held requests', async () => {
    const replica = kit.replicas[1]!
    const client = kit.clientFor(a.secret, replica)
    const { seq } = await client.unifiedPolicy({})
    const held = client.unifiedPolicy({ query: { since: seq } }, { wait: 20 })
    await until(() => replica.app.gateways.waiting() === 1)
    replica.app.gateways.stop()
    assert.equal((await held).kind, 'delta')
  })
})
