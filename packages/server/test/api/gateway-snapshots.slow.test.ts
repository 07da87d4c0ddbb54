import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { contentDigest } from '@holdfast/crypto'
import { createSender, type Gateway, openGateway } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { poolAccessOf } from '../../src/modules/gateways/sync/pool-access.ts'
import { enroll, newWireguardKey, publish, refused, rule, withGateway } from '../support/actors/gateways.ts'
import { createClock, type Kit, type Replica, startKit, times } from '../support/deployment/deployment.ts'

const payloadOf = (jws: string) => JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString())
type Made = Awaited<ReturnType<typeof withGateway>>
const openAt = (kit: Kit, made: Made, replica: Replica, now = () => new Date()): Gateway =>
  openGateway({
    baseUrl: kit.publicUrl,
    dispatcher: replica.dispatcher,
    secret: made.secret,
    gatewayId: made.gateway.gateway_id,
    tenantId: encodeId('tenant', kit.tenant),
    now,
  })
const heldBy = (gateway: Gateway) => ({
  peers: [...(gateway.state?.peers.values() ?? [])].sort((a, b) => (a.device_id < b.device_id ? -1 : 1)),
  variants: [...(gateway.state?.variants.keys() ?? [])].sort(),
})
/** A generator of numbers that are the same in every run. */
const numbers = (seed: number) => (below: number) => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
  return Math.floor((seed / 2 ** 32) * below)
}

const pieces = { inlineUpTo: 3, perChunk: 4 }

test('a snapshot in chunks', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2, snapshotSizes: [pieces, pieces] })
  const { admin, replicas } = kit
  const made = await withGateway(kit, 'a', 'A')
  const devices = await times(20, (i) => enroll(kit, `device ${i}`, { tags: ['all'] }))
  await publish(kit, [rule('all', { tags: ['all'] }, ['A'])])
  const chunksOf = async (replica: Replica) => {
    await kit.heard()
    const { policy } = await kit.clientFor(made.secret, replica).unifiedPolicy({})
    return payloadOf(policy).chunks as { digest: string; bytes: number }[]
  }
  const fetchChunk = (digest: string, secret = made.secret, headers = {}) =>
    createSender({ baseUrl: kit.publicUrl, credential: secret, dispatcher: kit.dispatcher })(
      'unifiedPolicyChunk',
      { params: { digest } },
      { headers },
    )

  await t.test('is a list of digests, the same on every replica; each chunk is what its digest says', async () => {
    const [mine, others] = [await chunksOf(replicas[0]!), await chunksOf(replicas[1]!)]
    assert.equal(mine.length, 8)
    assert.deepEqual(mine, others)
    const ids: string[] = []
    for (const { digest, bytes } of mine) {
      const reply = await fetchChunk(digest)
      assert.equal(contentDigest(reply.body), digest)
      assert.equal(Number(reply.headers['content-length']), bytes)
      assert.equal(reply.headers.etag, `"${digest}"`)
      assert.match(String(reply.headers['cache-control']), /private.*immutable/)
      ids.push(...(reply.body?.peers.map((p) => p.device_id) ?? []))
    }
    assert.deepEqual(ids.sort(), devices.map((d) => d.id).sort())
  })
  await t.test('one changed device changes one chunk; the one before is still given out', async () => {
    const before = await chunksOf(replicas[0]!)
    await admin.changeDevice({ body: { operation: 'suspend', device_id: devices[3]!.id } })
    const after = await chunksOf(replicas[0]!)
    const gone = before.filter(({ digest }) => !after.some((c) => c.digest === digest))
    assert.equal(gone.length, 1)
    assert.ok((await fetchChunk(gone[0]!.digest)).body?.peers.some((p) => p.device_id === devices[3]!.id))
    await admin.changeDevice({ body: { operation: 'reactivate', device_id: devices[3]!.id } })
    assert.deepEqual(await chunksOf(replicas[1]!), before)
  })
  await t.test('a gateway that starts from a snapshot again fetches only what changed', async () => {
    const gateway = openAt(kit, made, replicas[0]!)
    await gateway.pull()
    assert.equal(gateway.state?.peers.size, 20)
    await admin.changeDevice({ body: { operation: 'suspend', device_id: devices[5]!.id } })
    // The change log no longer reaches back to the gateway's state.
    await kit.db.inTenant(kit.tenant, (tx) => tx.deleteFrom('changes').execute())
    const fetched: string[] = []
    const { app } = replicas[0]!
    app.http.server.on('request', (request) => {
      if (request.url?.includes('/chunks/')) fetched.push(request.url)
    })
    const change = await gateway.pull()
    assert.deepEqual([change?.kind, change?.removedPeers], ['snapshot', [devices[5]!.id]])
    // No chunk is fetched if the changed one is now empty: the gateway already has an empty one.
    assert.ok(fetched.length <= 1, fetched.join())
    await admin.changeDevice({ body: { operation: 'reactivate', device_id: devices[5]!.id } })
  })
  await t.test('who is no gateway of the pool, and a digest of nothing, is 404', async () => {
    // An empty chunk has the same digest in every pool.
    const [{ digest } = { digest: '' }] = (await chunksOf(replicas[0]!)).sort((x, y) => y.bytes - x.bytes)
    const other = await withGateway(kit, 'b', 'B')
    await assert.rejects(fetchChunk(digest, other.secret), refused(404))
    await assert.rejects(fetchChunk(`sha256:${'0'.repeat(64)}`), refused(404))
    await assert.rejects(fetchChunk('x'), refused(404))
  })
})

test('whatever happens, deltas, chunks and inline snapshots say the same', async (t: TestContext) => {
  const clock = createClock()
  const kit = await startKit(t, {
    replicas: 2,
    now: clock.now,
    snapshotSizes: [{ inlineUpTo: 1000, perChunk: 1000 }, pieces],
  })
  const { admin, replicas } = kit
  const [inline, chunked] = [replicas[0]!, replicas[1]!]
  const a = await withGateway(kit, 'a', 'A')
  await withGateway(kit, 'b', 'B')
  const made = await times(12, (i) => enroll(kit, `device ${i}`, { tags: [`t${i % 3}`], now: clock.now }))
  const check = (seconds: number) => ({
    disk: { expression: 'disk.encrypted', enforcement: 'enforce' as const, freshness_seconds: seconds },
  })
  const gated = (via: string[]) => ({ ...rule('gated', { any: true }, via), when: { posture: ['disk'] } })
  const documents = [
    { rules: [rule('plain', { tags: ['t0', 't1'] }, ['A']), gated(['A'])], posture_checks: check(3600) },
    { rules: [rule('plain', { tags: ['t0', 't1'] }, ['A']), gated(['A'])], posture_checks: check(300) },
    { rules: [rule('plain', { tags: ['t1', 't2'] }, ['A', 'B']), gated(['B'])], posture_checks: check(300) },
    { rules: [rule('everyone', { any: true })] },
    { rules: [gated(['A'])], posture_checks: check(300) },
  ]
  const publishAs = (document: object) =>
    admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', ...document } } })
  await publishAs(documents[0]!)
  const next = numbers(7)
  let reports = 0
  /** Every device judged by itself, now. */
  const evaluated = async () => {
    const { fleet, policy } = inline.app
    const current = await policy.at(kit.tenant)
    const entitled = [...(await fleet.all(kit.tenant)).values()].flatMap((device) => {
      const found = poolAccessOf(current, device, a.pool.pool_id, clock.now().getTime())
      const id = encodeId('device', device.deviceId)
      return found ? [[id, [found.variant.digest, new Date(found.until).toISOString()]] as const] : []
    })
    return new Map(entitled.sort(([x], [y]) => (x < y ? -1 : 1)))
  }
  const pullers = [openAt(kit, a, inline, clock.now), openAt(kit, a, chunked, clock.now)]
  const steps = [
    (i: number) => admin.changeDevice({ body: { operation: 'suspend', device_id: made[i]!.id } }),
    (i: number) => admin.changeDevice({ body: { operation: 'reactivate', device_id: made[i]!.id } }),
    (i: number) =>
      admin.changeDevice({
        body: { operation: 'update', device_id: made[i]!.id, device: { tags: [`t${next(3)}`] } },
      }),
    // Unchanged facts are not announced to other replicas each time, so these facts change.
    (i: number) =>
      made[i]!.client.reportPosture({
        body: { facts: { 'disk.encrypted': next(4) > 0, 'os.version': `15.${++reports}` } },
      }).catch(refused(401)),
    (i: number) => made[i]!.renew({ wireguard_public_key: newWireguardKey() }).catch(refused(401)),
    () => publishAs(documents[next(documents.length)]!),
    async () => clock.advance([10, 100, 301, 1000, 1801][next(5)]!),
  ]
  let overlaps = 0
  const kinds = { snapshot: 0, delta: 0, ended: 0, expired: 0 }
  for (let round = 0; round < 40; round++) {
    for (let n = next(4); n >= 0; n--) await steps[next(steps.length)]!(next(made.length))
    // The other replica may learn of a change a moment later.
    await kit.heard()
    for (const puller of pullers) {
      const change = await puller.pull()
      if (change) kinds[change.kind]++
    }
    const [one, two] = [openAt(kit, a, inline, clock.now), openAt(kit, a, chunked, clock.now)]
    await one.pull()
    await two.pull()
    const truth = heldBy(one)
    overlaps += truth.peers.filter((p) => p.wireguard_keys.length === 2).length
    assert.deepEqual(new Map(truth.peers.map((p) => [p.device_id, [p.variant, p.valid_until]])), await evaluated())
    assert.deepEqual(heldBy(two), truth, `round ${round}: chunks`)
    for (const [i, puller] of pullers.entries()) assert.deepEqual(heldBy(puller), truth, `round ${round}: deltas ${i}`)
  }
  t.diagnostic(JSON.stringify({ ...kinds, overlaps }))
  assert.ok(overlaps > 10, 'keys overlapped')
  assert.ok(kinds.delta > 40 && kinds.delta > kinds.snapshot, JSON.stringify(kinds))
})
