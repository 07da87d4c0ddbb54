import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createProof, generateKey, mintToken, parseToken } from '@holdfast/crypto'
import { ApiError, createClient, createSender, type Gateway, openGateway } from '@holdfast/sdk'
import { sql } from 'kysely'
import { encodeId, newUuid } from '../../src/kernel/ids.ts'
import { createClock, type Kit, startKit, times } from '../kit.ts'

const region = { code: 'eu-1', name: 'Frankfurt', lat: 50.1, lon: 8.7 }

const refused = (status: number, detail?: RegExp) => (e: unknown) => {
  assert.ok(e instanceof ApiError, String(e))
  assert.equal(e.status, status, e.message)
  if (detail) assert.match(`${e.message} ${JSON.stringify(e.errors ?? [])}`, detail)
  return true
}
const audited = async (kit: Kit, kind: string) => (await kit.admin.listAuditEvents({ query: { kind } })).items
const seqOf = async (kit: Kit) =>
  kit.db.inTenant(kit.tenant, async (tx) => {
    const row = await tx
      .selectFrom('tenant_epochs')
      .select('seq')
      .where('tenant_id', '=', kit.tenant)
      .executeTakeFirstOrThrow()
    return row.seq
  })

async function withGateway(kit: Kit, name = 'g1', poolName = `pool of ${name}`) {
  const pool = await kit.admin.createGatewayPool({ body: { name: poolName, region } })
  const { gateway, secret } = await kit.admin.createGateway({
    params: { pool_id: pool.pool_id },
    body: { name, endpoints: [{ host: `${name}.example`, port: 51820, proto: 'udp' }], public_key: 'k' },
  })
  return { pool, gateway, secret, client: kit.clientFor(secret) }
}

/** A change that no gateway needs to know of. */
async function changeSomethingElse(kit: Kit) {
  const before = await seqOf(kit)
  const { api_key } = await kit.admin.createApiKey({ body: { name: 'short-lived', role: 'viewer' } })
  await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id }, body: {} })
  assert.ok((await seqOf(kit)) > before)
}

async function enroll(
  kit: Kit,
  name: string,
  {
    now = () => new Date(),
    admin = kit.admin,
    ...token
  }: { user_id?: string; tags?: string[]; now?: () => Date; admin?: Kit['admin'] } = {},
) {
  const { token: secret } = await admin.generateToken({ body: token })
  const { privateJwk } = generateKey('ES256')
  const connection = {
    baseUrl: kit.publicUrl,
    dispatcher: kit.dispatcher,
    prove: (method: string, url: string, accessToken: string) =>
      createProof(privateJwk, { method, url, accessToken, now: now() }),
  }
  const device = { name, platform: 'linux' as const, client_version: '1.2.3' }
  const made = await createClient({ ...connection, credential: secret }).enroll({ body: { device } })
  return {
    id: made.device_id,
    client: createClient({ ...connection, credential: made.credential }),
    send: createSender({ ...connection, credential: made.credential }),
  }
}

const open = (kit: Kit, { gateway, secret }: { gateway: { gateway_id: string }; secret: string }): Gateway =>
  openGateway({
    baseUrl: kit.publicUrl,
    dispatcher: kit.dispatcher,
    secret,
    gatewayId: gateway.gateway_id,
    tenantId: encodeId('tenant', kit.tenant),
  })

const rule = (id: string, from: object, via?: string[]) => ({
  id,
  action: 'allow',
  from,
  to: ['10.0.0.0/8'],
  ...(via && { via }),
})
const publish = (kit: Kit, rules: object[]) =>
  kit.admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })

let sequence = 0
const report = (samples: object[], more: object = {}) => {
  const end = Date.now()
  return {
    report_id: newUuid(),
    boot_id: 'boot-1',
    sequence: ++sequence,
    interval_start: new Date(end - 60_000).toISOString(),
    interval_end: new Date(end).toISOString(),
    samples: samples as {
      session_id: string
      device_id: string
      state: 'active' | 'ended'
      rx_bytes: number
      tx_bytes: number
    }[],
    ...more,
  }
}
const newSession = () => encodeId('vpn_session', newUuid())

test('gateway pools', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const pool = await admin.createGatewayPool({
    body: { name: 'Frankfurt', region, capacity: 500, address_cidrs: ['10.8.0.0/16'] },
  })

  await t.test('what is not said has defaults, and what was said is given back', async () => {
    assert.deepEqual(await admin.getGatewayPool({ params: { pool_id: pool.pool_id } }), pool)
    const { protocol, selection, enabled, health_threshold, gateways } = pool
    assert.deepEqual(
      { protocol, selection, enabled, health_threshold, gateways },
      { protocol: 'wireguard', selection: 'latency', enabled: true, health_threshold: 1, gateways: 0 },
    )
  })
  await t.test('a network is refused by its position', () =>
    assert.rejects(
      admin.createGatewayPool({ body: { name: 'x', region, address_cidrs: ['10.0.0.0/8', '10.1.0.1/16'] } }),
      refused(422, /address_cidrs\[1\].*10\.1\.0\.0\/16/),
    ),
  )
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
    await assert.rejects(admin.updateGatewayPool({ params, body: { name: 'FRANKFURT' } }), refused(422, /name/))
    assert.deepEqual(await admin.deleteGatewayPool({ params }), { changed: true })
    await assert.rejects(admin.deleteGatewayPool({ params }), refused(404))
  })
  await t.test(
    'a change keeps what it does not name, records what it changed, and nothing when nothing changed',
    async () => {
      const params = { pool_id: pool.pool_id }
      const changed = await admin.updateGatewayPool({ params, body: { capacity: null, enabled: false } })
      assert.deepEqual(changed, { ...pool, capacity: null, enabled: false, updated_at: changed.updated_at })
      const before = await seqOf(kit)
      await admin.updateGatewayPool({ params, body: { enabled: false, region: { ...region } } })
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
    await assert.rejects(other.updateGatewayPool({ params, body: { name: 'mine' } }), refused(404))
    await assert.rejects(other.deleteGatewayPool({ params }), refused(404))
    await assert.rejects(other.createGateway({ params, body: { name: 'mine' } }), refused(404))
    await assert.rejects(other.listGateways({ params }), refused(404))
  })
})

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
  await t.test('a change keeps what it does not name; a taken name is refused', async () => {
    const changed = await admin.updateGateway({ params, body: { weight: 5 } })
    assert.deepEqual([changed.name, changed.weight, changed.public_key], ['g1', 5, 'k'])
    const pool = { pool_id: made.pool.pool_id }
    await admin.createGateway({ params: pool, body: { name: 'g2' } })
    await assert.rejects(admin.createGateway({ params: pool, body: { name: 'G2' } }), refused(422, /name/))
    await assert.rejects(admin.updateGateway({ params, body: { name: 'g2' } }), refused(422, /name/))
    assert.deepEqual(
      (await admin.listGateways({ params: pool })).items.map((g) => g.name),
      ['g1', 'g2'],
    )
  })
  await t.test('another tenant has no such gateway', async () => {
    const other = await kit.as('tenant_admin', await kit.newTenant())
    await assert.rejects(other.getGateway({ params }), refused(404))
    await assert.rejects(other.updateGateway({ params, body: { weight: 1 } }), refused(404))
    await assert.rejects(other.rotateGatewaySecret({ params }), refused(404))
    await assert.rejects(other.drainGateway({ params, body: { draining: true } }), refused(404))
    await assert.rejects(other.deleteGateway({ params }), refused(404))
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
    assert.equal(parseToken(made.secret)?.prefix, 'hfg')
    const { rows } = await kit.db.acrossTenants((tx) =>
      sql<{ t: string }>`select gateway_secrets::text t from gateway_secrets`.execute(tx),
    )
    assert.equal(rows.length, 1)
    assert.ok(!rows[0]!.t.includes(made.secret.slice(20)))
    assert.ok(!kit.logs.join().includes(made.secret))
  })
  await t.test('a minted secret of nobody is 401, and a device or key is 403', async () => {
    assert.equal(await works(mintToken('hfg').token), false)
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
    const tool = kit.clientFor(kit.secrets.gatewayServiceSecret)
    const query = { tenant_id: encodeId('tenant', kit.tenant), gateway_id: made.gateway.gateway_id }
    assert.equal((await tool.unifiedPolicy({ query })).kind, 'snapshot')
    await assert.rejects(tool.unifiedPolicy({}), refused(403, /tenant_id and gateway_id/))
    await assert.rejects(tool.unifiedPolicy({ query: { tenant_id: query.tenant_id } }), refused(403))
    const otherTenant = encodeId('tenant', await kit.newTenant())
    await assert.rejects(tool.unifiedPolicy({ query: { ...query, tenant_id: otherTenant } }), refused(404))
    await assert.rejects(tool.listGatewayPools(), refused(403))
  })
})

test('metering', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { client, pool, gateway } = await withGateway(kit)
  const device = await enroll(kit, 'laptop')
  const sample = (session_id: string, more: object = {}) => ({
    session_id,
    device_id: device.id,
    state: 'active',
    rx_bytes: 10,
    tx_bytes: 1,
    ...more,
  })
  const get = (session_id: string) => admin.getSession({ params: { session_id } })

  await t.test('the first sample opens a session with what is known of its device; the next ones add', async () => {
    const id = newSession()
    const started_at = new Date(Date.now() - 90_000).toISOString()
    const first = report([sample(id, { started_at, source_ip: '203.0.113.9', assigned_ip: '100.64.0.1' })])
    assert.deepEqual(await client.metering({ body: first }), { accepted: 1, duplicate: false, rejected: [] })
    await client.metering({ body: report([sample(id, { rx_bytes: 5 }), sample(id, { rx_bytes: 7 })]) })
    const session = await get(id)
    const digest = (await device.client.policyDigest()).digest
    assert.deepEqual(
      { ...session, last_seen_at: '', started_at: '' },
      {
        session_id: id,
        device_id: device.id,
        device_name: 'laptop',
        user_id: null,
        gateway_id: gateway.gateway_id,
        pool_id: pool.pool_id,
        state: 'active',
        started_at: '',
        last_seen_at: '',
        ended_at: null,
        end_reason: null,
        source_ip: '203.0.113.9',
        assigned_ip: '100.64.0.1',
        protocol: 'wireguard',
        client_version: '1.2.3',
        auth_method: 'device_key',
        policy_digest: digest,
        posture_verdict: 'unknown',
        rx_bytes: 22,
        tx_bytes: 3,
      },
    )
  })
  await t.test('twenty sends of one report at once count once', async () => {
    const id = newSession()
    const body = report([sample(id)])
    const answers = await times(20, () => client.metering({ body }))
    assert.equal(answers.filter((a) => !a.duplicate).length, 1)
    assert.deepEqual(
      answers.find((a) => a.duplicate),
      { accepted: 0, duplicate: true, rejected: [] },
    )
    assert.equal((await get(id)).rx_bytes, 10)
    const moved = { ...body, interval_end: new Date(Date.parse(body.interval_end) + 1).toISOString() }
    assert.equal((await client.metering({ body: moved })).duplicate, true)
    assert.equal((await client.metering({ body: { ...body, boot_id: 'boot-2' } })).duplicate, false)
  })
  await t.test('different reports of one session at once all count', async () => {
    const id = newSession()
    await times(20, () => client.metering({ body: report([sample(id)]) }))
    assert.equal((await get(id)).rx_bytes, 200)
  })
  await t.test('a bad sample is rejected by its index and the others count', async () => {
    const id = newSession()
    const stranger = encodeId('device', newUuid())
    const elsewhere = await enroll(kit, 'laptop', { admin: await kit.as('tenant_admin', await kit.newTenant()) })
    const answer = await client.metering({
      body: report([
        sample('vse_nonsense'),
        sample(id),
        sample(newSession(), { device_id: stranger }),
        sample(newSession(), { device_id: 'dev_x' }),
        sample(newSession(), { source_ip: 'here' }),
        sample(newSession(), { device_id: elsewhere.id }),
      ]),
    })
    assert.equal(answer.accepted, 1)
    assert.deepEqual(answer.rejected, [
      { index: 0, error: 'session_id is not an id of a session (vse_…)' },
      { index: 2, error: 'unknown device' },
      { index: 3, error: 'unknown device' },
      { index: 4, error: 'source_ip is not an address' },
      { index: 5, error: 'unknown device' },
    ])
    assert.equal((await get(id)).state, 'active')
  })
  await t.test('an ended sample ends the session for good', async () => {
    const id = newSession()
    await client.metering({ body: report([sample(id)]) })
    await client.metering({ body: report([sample(id, { state: 'ended' })]) })
    await client.metering({ body: report([sample(id)]) })
    const session = await get(id)
    assert.deepEqual([session.state, session.end_reason, session.rx_bytes], ['ended', 'gateway', 30])
    const short = newSession()
    await client.metering({ body: report([sample(short, { state: 'ended', end_reason: 'user' })]) })
    assert.deepEqual([(await get(short)).state, (await get(short)).end_reason], ['ended', 'user'])
  })
  await t.test('a device has one active session on a gateway: a new one ends the one before', async () => {
    const [a, b] = [newSession(), newSession()]
    await client.metering({ body: report([sample(a)]) })
    await client.metering({ body: report([sample(b)]) })
    assert.deepEqual([(await get(a)).end_reason, (await get(b)).state], ['superseded', 'active'])
    const device_id = device.id
    assert.deepEqual(
      (await admin.listSessions({ query: { device_id } })).items.map((s) => s.session_id),
      [b],
    )
  })
  await t.test('a session of another gateway is not touched', async () => {
    const other = await withGateway(kit, 'other')
    const id = newSession()
    await client.metering({ body: report([sample(id)]) })
    const answer = await other.client.metering({ body: report([sample(id, { state: 'ended' })]) })
    assert.deepEqual(answer.rejected, [{ index: 0, error: 'the session belongs to another gateway' }])
    assert.deepEqual([(await get(id)).state, (await get(id)).rx_bytes], ['active', 10])
  })
  await t.test('intervals outside of 7 days back and 5 minutes ahead are refused', async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const old = report([], { interval_start: at(-8 * 86_400_000), interval_end: at(-8 * 86_400_000) })
    await assert.rejects(client.metering({ body: old }), refused(422, /interval_start/))
    await assert.rejects(
      client.metering({ body: report([], { interval_end: at(600_000) }) }),
      refused(422, /interval_end/),
    )
    const reversed = report([], { interval_start: at(0), interval_end: at(-1000) })
    await assert.rejects(client.metering({ body: reversed }), refused(422, /interval_end/))
    await client.metering({
      body: report([], { interval_start: at(-6.9 * 86_400_000), interval_end: at(-6.9 * 86_400_000) }),
    })
  })
  await t.test('bytes never overflow', async () => {
    const id = newSession()
    const most = Number.MAX_SAFE_INTEGER
    await client.metering({ body: report([sample(id, { rx_bytes: most }), sample(id, { rx_bytes: most })]) })
    await client.metering({ body: report([sample(id, { rx_bytes: most })]) })
    assert.equal((await get(id)).rx_bytes, most)
  })
  await t.test('ten thousand samples are one report', async () => {
    const before = (await admin.listSessions({ query: { state: 'ended' } })).items.length
    assert.ok(before > 0)
    const samples = Array.from({ length: 10_000 }, () => sample(newSession(), { state: 'ended' }))
    const answer = await client.metering({ body: report(samples) })
    assert.deepEqual([answer.accepted, answer.rejected.length], [10_000, 0])
  })
})

test('VPN sessions', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { client, pool } = await withGateway(kit)
  const devices = await times(3, (i) => enroll(kit, `device ${i}`))
  const start = async (...which: number[]) => {
    const samples = which.map((i) => ({
      session_id: newSession(),
      device_id: devices[i]!.id,
      state: 'active',
      rx_bytes: 1,
      tx_bytes: 1,
      started_at: new Date(Date.now() - 1000 * (10 - i)).toISOString(),
    }))
    await client.metering({ body: report(samples) })
    return samples.map((s) => s.session_id)
  }

  await t.test('lists are filtered, newest first, and paged', async () => {
    const [a, b, c] = await start(0, 1, 2)
    assert.deepEqual(
      (await admin.listSessions()).items.map((s) => s.session_id),
      [c, b, a],
    )
    const first = await admin.listSessions({ query: { limit: 2, sort: 'started_at' } })
    const second = await admin.listSessions({
      query: { limit: 2, sort: 'started_at', cursor: first.next_cursor! },
    })
    assert.deepEqual(
      [...first.items, ...second.items].map((s) => s.session_id),
      [a, b, c],
    )
    const one = await admin.listSessions({ query: { device_id: devices[1]!.id } })
    assert.deepEqual(
      one.items.map((s) => s.session_id),
      [b],
    )
    assert.deepEqual((await admin.listSessions({ query: { user_id: 'usr_unknown' } })).items, [])
    assert.deepEqual((await admin.listSessions({ query: { state: 'ended' } })).items, [])
  })
  await t.test('terminating by id says what it matched, stays, and is recorded once', async () => {
    const [id] = await start(0)
    const body = { operation: 'terminate' as const, session_ids: [id!, newSession(), 'vse_x'], reason: 'lost laptop' }
    assert.deepEqual(await admin.terminateSessions({ body }), { matched: 1, terminated: 1 })
    assert.deepEqual(await admin.terminateSessions({ body }), { matched: 1, terminated: 0 })
    await client.metering({
      body: report([{ session_id: id, device_id: devices[0]!.id, state: 'active', rx_bytes: 5, tx_bytes: 5 }]),
    })
    const session = await admin.getSession({ params: { session_id: id! } })
    assert.deepEqual([session.state, session.end_reason, session.rx_bytes], ['ended', 'admin', 6])
    const events = await audited(kit, 'vpn_session.terminated')
    assert.equal(events.length, 1)
    const { session_ids, reason } = events[0] as { session_ids?: string[]; reason?: string }
    assert.deepEqual([session_ids, reason], [[id], 'lost laptop'])
  })
  await t.test('terminating by filter, which must name something', async () => {
    const terminate = (body: object) => admin.terminateSessions({ body: { operation: 'terminate', ...body } })
    await start(0, 1, 2)
    await assert.rejects(terminate({}), refused(422, /session_ids/))
    await assert.rejects(terminate({ filter: {} }), refused(422, /filter/))
    await assert.rejects(terminate({ filter: { pool_id: pool.pool_id }, session_ids: [] }), refused(422))
    assert.deepEqual(await terminate({ filter: { pool_id: 'gwp_x' } }), { matched: 0, terminated: 0 })
    assert.deepEqual(await terminate({ filter: { pool_id: pool.pool_id } }), { matched: 3, terminated: 3 })
  })
  await t.test('another tenant has no such session', async () => {
    const [id] = await start(0)
    const other = await kit.as('tenant_admin', await kit.newTenant())
    await assert.rejects(other.getSession({ params: { session_id: id! } }), refused(404))
    const body = { operation: 'terminate' as const, session_ids: [id!] }
    assert.deepEqual(await other.terminateSessions({ body }), { matched: 0, terminated: 0 })
    assert.equal((await admin.getSession({ params: { session_id: id! } })).state, 'active')
  })
  await t.test('suspending a device ends its sessions, and none opens while it is suspended', async () => {
    const [id] = await start(1)
    await admin.changeDevice({ body: { operation: 'suspend', device_id: devices[1]!.id } })
    const session = await admin.getSession({ params: { session_id: id! } })
    assert.deepEqual([session.state, session.end_reason], ['ended', 'suspended'])
    const [late] = await start(1)
    const refusedOne = await admin.getSession({ params: { session_id: late! } })
    assert.deepEqual([refusedOne.state, refusedOne.end_reason], ['ended', 'suspended'])
  })
  await t.test('a session that nobody reports any more ends by itself', async () => {
    const [id] = await start(2)
    assert.equal(await kit.app.gateways.endSilentSessions(), 0)
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`update vpn_sessions set last_seen_at = last_seen_at - interval '16 minutes' where session_id in (
        select session_id from vpn_sessions where device_id is not null and state = 'active')`.execute(tx),
    )
    assert.ok((await kit.app.gateways.endSilentSessions()) >= 1)
    assert.equal((await admin.getSession({ params: { session_id: id! } })).end_reason, 'timeout')
  })
})

test('telemetry', async (t: TestContext) => {
  const kit = await startKit(t)
  const device = await enroll(kit, 'phone')
  const event = (event_id: string, more: object = {}) => ({
    event_id,
    kind: 'quality' as const,
    at: new Date().toISOString(),
    latency_ms: 12.5,
    ...more,
  })
  const deviceNow = () => kit.admin.getDevice({ params: { device_id: device.id } })

  await t.test('an event counts once, within a batch and across batches', async () => {
    const e = event('e1')
    const events = [e, e, event('e2')]
    assert.deepEqual(await device.client.telemetry({ body: { events } }), { accepted: 2, duplicate: 1, rejected: [] })
    const answers = await times(10, () => device.client.telemetry({ body: { events: [e, event('e3', { at: e.at })] } }))
    assert.equal(
      answers.reduce((n, a) => n + a.accepted, 0),
      1,
    )
  })
  await t.test('times out of bounds and foreign ids are rejected by index', async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const answer = await device.client.telemetry({
      body: {
        events: [
          event('a', { at: at(-8 * 86_400_000) }),
          event('b'),
          event('c', { at: at(600_000) }),
          event('d', { gateway_id: 'gwy_x' }),
          event('e', { kind: 'policy_applied' }),
        ],
      },
    })
    assert.deepEqual([answer.accepted, answer.rejected.map((r) => r.index)], [1, [0, 2, 3, 4]])
  })
  await t.test('what it says of the applied policy reaches the device, the newest word last', async () => {
    const digest = (c: string) => `sha256:${c.repeat(64)}`
    const applied = (id: string, c: string, ms: number) =>
      event(id, { kind: 'policy_applied', policy_digest: digest(c), at: new Date(Date.now() + ms).toISOString() })
    await device.client.telemetry({ body: { events: [applied('p1', 'b', -1000), applied('p0', 'a', -5000)] } })
    assert.equal((await deviceNow()).policy.applied_digest, digest('b'))
    await device.client.telemetry({ body: { events: [applied('p2', 'c', -60_000)] } })
    assert.equal((await deviceNow()).policy.applied_digest, digest('b'))
    await device.client.telemetry({ body: { events: [applied('p3', 'd', 200_000)] } })
    await device.client.telemetry({ body: { events: [applied('p4', 'e', 0)] } })
    assert.equal((await deviceNow()).policy.applied_digest, digest('e'))
    assert.ok((await deviceNow()).last_seen_at)
  })
})

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
    await admin.updateGatewayPool({ params: { pool_id: b.pool.pool_id }, body: { enabled: false } })
    assert.deepEqual(Object.keys(await pools()), ['A'])
    await admin.updateGatewayPool({ params: { pool_id: b.pool.pool_id }, body: { enabled: true } })
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
    await admin.updateGateway({ params: { gateway_id: a.gateway.gateway_id }, body: { weight: 1 } })
    const etag = String(first.headers.etag)
    assert.equal((await device.send('gatewayPools', {}, { headers: { 'if-none-match': etag } })).status, 200)
  })
  await t.test('a gateway may not read it', () => assert.rejects(kit.clientFor(a.secret).gatewayPools(), refused(403)))
})

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
    await admin.updateGatewayPool({ params, body: { enabled: false } })
    await gatewayA.pull()
    assert.deepEqual(peersOf(gatewayA), [])
    await admin.updateGatewayPool({ params, body: { enabled: true } })
    await gatewayA.pull()
    assert.deepEqual(peersOf(gatewayA), [ids[0], ids[2]].sort())
  })
  await t.test('a since that the log does not reach, or that never was, is answered by a snapshot', async () => {
    assert.equal((await a.client.unifiedPolicy({ query: { since: 1_000_000 } })).kind, 'snapshot')
    const { seq } = await a.client.unifiedPolicy({})
    await changeSomethingElse(kit)
    assert.equal((await a.client.unifiedPolicy({ query: { since: seq } })).kind, 'delta')
    await kit.db.inTenant(kit.tenant, (tx) => tx.deleteFrom('changes').where('seq', '<=', seq).execute())
    await admin.updateGateway({ params: { gateway_id: a.gateway.gateway_id }, body: { weight: 7 } })
    assert.equal((await a.client.unifiedPolicy({ query: { since: seq - 1 } })).kind, 'snapshot')
    assert.equal((await a.client.unifiedPolicy({ query: { since: seq } })).kind, 'delta')
  })
  await t.test('a held request is answered as soon as something concerns its gateway, on any replica', async () => {
    for (const replica of kit.replicas) {
      const client = kit.clientFor(a.secret, replica)
      const { seq } = await client.unifiedPolicy({})
      const startedAt = performance.now()
      const held = client.unifiedPolicy({ query: { since: seq } }, { wait: 20 })
      await new Promise((resolve) => setTimeout(resolve, 300))
      await changeSomethingElse(kit)
      await new Promise((resolve) => setTimeout(resolve, 300))
      assert.equal(replica.app.gateways.waiting(), 1)
      const changedAt = performance.now()
      await change('suspend', 0)
      const answer = await held
      assert.equal(answer.kind, 'delta')
      assert.ok(answer.seq > seq)
      assert.ok(changedAt - startedAt >= 600)
      assert.ok(performance.now() - changedAt < 1000, `${performance.now() - changedAt} ms`)
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
      wait: 5,
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
    const last = await seqOf(kit)
    const deadline = Date.now() + 3000
    while ((puller.state?.seq ?? 0) < last - 1 && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 20))
    await new Promise((resolve) => setTimeout(resolve, 300))
    stop.abort()
    await pulling
    const fresh = open(kit, a)
    await fresh.pull()
    assert.ok(deltas > 3, `${deltas} deltas`)
    assert.deepEqual(peersOf(puller), peersOf(fresh))
    for (const [id, peer] of fresh.state!.peers) assert.deepEqual(puller.state?.peers.get(id), peer)
    assert.deepEqual([...puller.state!.variants.keys()].sort(), [...fresh.state!.variants.keys()].sort())
  })
  await t.test('a client that goes is let go, and a deleted gateway is answered 401 at once', async () => {
    const { seq } = await b.client.unifiedPolicy({})
    const gone = new AbortController()
    const held = b.client.unifiedPolicy({ query: { since: seq } }, { wait: 20, signal: gone.signal })
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.equal(kit.app.gateways.waiting(), 1)
    gone.abort()
    await assert.rejects(held)
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.equal(kit.app.gateways.waiting(), 0)

    const again = b.client.unifiedPolicy({ query: { since: seq } }, { wait: 20 })
    again.catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 200))
    await admin.deleteGateway({ params: { gateway_id: b.gateway.gateway_id } })
    await assert.rejects(again, refused(401))
  })
  await t.test("a device's bundle, for its gateway", async () => {
    const bundle = (device_id: string) => a.client.gatewayPolicyBundle({ query: { device_id } })
    const digest = (await devices[0]!.client.policyDigest()).digest
    assert.equal((await bundle(ids[0]!)).digest, digest)
    await assert.rejects(bundle(encodeId('device', newUuid())), refused(404))
    await assert.rejects(bundle('nonsense'), refused(404))
    const elsewhere = await enroll(kit, 'laptop', { admin: await kit.as('tenant_admin', await kit.newTenant()) })
    await assert.rejects(bundle(elsewhere.id), refused(404))
  })
  await t.test('a shutdown answers held requests', async () => {
    const replica = kit.replicas[1]!
    const client = kit.clientFor(a.secret, replica)
    const { seq } = await client.unifiedPolicy({})
    const held = client.unifiedPolicy({ query: { since: seq } }, { wait: 20 })
    await new Promise((resolve) => setTimeout(resolve, 200))
    replica.app.gateways.stop()
    assert.equal((await held).kind, 'delta')
  })
})
