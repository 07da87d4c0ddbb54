import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { encodeId, newUuid } from '../../src/kernel/ids.ts'
import { enroll } from '../support/actors/devices.ts'
import { makeGateway, meteringReport, newVpnSessionId } from '../support/actors/gateways.ts'
import { refused } from '../support/clients/answers.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

test('metering', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { client, pool, gateway } = await makeGateway(kit)
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

  await t.test('the first sample opens a session with the data of its device, and later ones add to it', async () => {
    const id = newVpnSessionId()
    const started_at = new Date(Date.now() - 90_000).toISOString()
    const first = meteringReport([sample(id, { started_at, source_ip: '203.0.113.9', assigned_ip: '100.64.0.1' })])
    assert.deepEqual(await client.metering({ body: first }), {
      accepted: 1,
      duplicate: 0,
      rejected: [],
      unknown_resources: [],
    })
    await client.metering({ body: meteringReport([sample(id, { rx_bytes: 5 }), sample(id, { rx_bytes: 7 })]) })
    const session = await get(id)
    const digest = (await device.client.policyDigest()).digest
    assert.deepEqual(
      { ...session, last_seen_at: '', started_at: '' },
      {
        session_id: id,
        device_id: device.id,
        device_name: 'laptop',
        user_name: null,
        gateway_name: 'g1',
        pool_name: 'pool of g1',
        user_id: null,
        gateway_id: gateway.gateway_id,
        pool_id: pool.pool_id,
        state: 'active',
        started_at: '',
        last_seen_at: '',
        ended_at: null,
        end_reason: null,
        block_until: null,
        source_ip: '203.0.113.9',
        assigned_ip: '100.64.0.1',
        protocol: 'wireguard',
        client_version: '1.2.3',
        auth_method: 'device_key',
        policy_digest: null,
        assigned_digest: digest,
        posture_verdict: 'unknown',
        rx_bytes: 22,
        tx_bytes: 3,
        rx_packets: 0,
        tx_packets: 0,
        denied_packets: 0,
        latest_handshake_at: null,
        source_port: null,
        resources: [],
      },
    )
  })
  await t.test('twenty concurrent sends of one report count once', async () => {
    const id = newVpnSessionId()
    const body = meteringReport([sample(id)])
    const answers = await times(20, () => client.metering({ body }))
    assert.equal(answers.filter((a) => !a.duplicate).length, 1)
    assert.deepEqual(
      answers.find((a) => a.duplicate),
      { accepted: 0, duplicate: 1, rejected: [], unknown_resources: [] },
    )
    assert.equal((await get(id)).rx_bytes, 10)
    const moved = { ...body, interval_end: new Date(Date.parse(body.interval_end) + 1).toISOString() }
    assert.equal((await client.metering({ body: moved })).duplicate, 1)
    assert.equal((await client.metering({ body: { ...body, boot_id: 'boot-2' } })).duplicate, 0)
  })
  await t.test('twenty different concurrent reports of one session all count', async () => {
    const id = newVpnSessionId()
    await times(20, () => client.metering({ body: meteringReport([sample(id)]) }))
    assert.equal((await get(id)).rx_bytes, 200)
  })
  await t.test('an invalid sample is rejected by its index and the others count', async () => {
    const id = newVpnSessionId()
    const stranger = encodeId('device', newUuid())
    const elsewhere = await enroll(kit, 'laptop', { admin: await kit.as('tenant_admin', await kit.newTenant()) })
    const answer = await client.metering({
      body: meteringReport([
        sample('vse_nonsense'),
        sample(id),
        sample(newVpnSessionId(), { device_id: stranger }),
        sample(newVpnSessionId(), { device_id: 'dev_x' }),
        sample(newVpnSessionId(), { source_ip: 'here' }),
        sample(newVpnSessionId(), { device_id: elsewhere.id }),
      ]),
    })
    assert.equal(answer.accepted, 1)
    assert.deepEqual(answer.rejected, [
      { index: 0, error: 'session_id is not the id of a VPN session (vse_…)' },
      { index: 2, error: 'unknown device' },
      { index: 3, error: 'unknown device' },
      { index: 4, error: 'source_ip is not an IP address' },
      { index: 5, error: 'unknown device' },
    ])
    assert.equal((await get(id)).state, 'active')
  })
  await t.test('an ended sample ends the session permanently', async () => {
    const id = newVpnSessionId()
    await client.metering({ body: meteringReport([sample(id)]) })
    await client.metering({ body: meteringReport([sample(id, { state: 'ended' })]) })
    await client.metering({ body: meteringReport([sample(id)]) })
    const session = await get(id)
    assert.deepEqual([session.state, session.end_reason, session.rx_bytes], ['ended', 'gateway', 30])
    const short = newVpnSessionId()
    await client.metering({ body: meteringReport([sample(short, { state: 'ended', end_reason: 'user' })]) })
    assert.deepEqual([(await get(short)).state, (await get(short)).end_reason], ['ended', 'user'])
  })
  await t.test('a new session of a device on a gateway ends its previous one', async () => {
    const [a, b] = [newVpnSessionId(), newVpnSessionId()]
    await client.metering({ body: meteringReport([sample(a)]) })
    await client.metering({ body: meteringReport([sample(b)]) })
    assert.deepEqual([(await get(a)).end_reason, (await get(b)).state], ['superseded', 'active'])
    const device_id = device.id
    assert.deepEqual(
      (await admin.listSessions({ query: { device_id } })).items.map((s) => s.session_id),
      [b],
    )
  })
  await t.test('a session of another gateway is not changed', async () => {
    const other = await makeGateway(kit, 'other')
    const id = newVpnSessionId()
    await client.metering({ body: meteringReport([sample(id)]) })
    const answer = await other.client.metering({ body: meteringReport([sample(id, { state: 'ended' })]) })
    assert.deepEqual(answer.rejected, [{ index: 0, error: 'the session belongs to another gateway' }])
    assert.deepEqual([(await get(id)).state, (await get(id)).rx_bytes], ['active', 10])
  })
  await t.test('intervals more than 7 days ago or 5 minutes ahead are refused', async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const old = meteringReport([], { interval_start: at(-8 * 86_400_000), interval_end: at(-8 * 86_400_000) })
    await assert.rejects(client.metering({ body: old }), refused(422, /interval_start/))
    await assert.rejects(
      client.metering({ body: meteringReport([], { interval_end: at(600_000) }) }),
      refused(422, /interval_end/),
    )
    const reversed = meteringReport([], { interval_start: at(0), interval_end: at(-1000) })
    await assert.rejects(client.metering({ body: reversed }), refused(422, /interval_end/))
    await client.metering({
      body: meteringReport([], { interval_start: at(-6.9 * 86_400_000), interval_end: at(-6.9 * 86_400_000) }),
    })
  })
  await t.test('packets and denials are added up, and the latest handshake and port are kept', async () => {
    const id = newVpnSessionId()
    const at = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString()
    const [older, newer] = [at(90), at(30)]
    const counted = { rx_packets: 3, tx_packets: 2, denied_packets: 1 }
    const first = sample(id, { ...counted, latest_handshake_at: newer, source_port: 4001 })
    await client.metering({ body: meteringReport([first, sample(id, counted)]) })
    await client.metering({
      body: meteringReport([sample(id, { ...counted, latest_handshake_at: older, source_port: 4002 })]),
    })
    await client.metering({ body: meteringReport([sample(id)]) })
    const { rx_packets, tx_packets, denied_packets, latest_handshake_at, source_port } = await get(id)
    assert.deepEqual(
      { rx_packets, tx_packets, denied_packets, latest_handshake_at, source_port },
      { rx_packets: 9, tx_packets: 6, denied_packets: 3, latest_handshake_at: newer, source_port: 4002 },
    )
    const wrong = sample(newVpnSessionId(), { latest_handshake_at: at(-3600) })
    const { rejected } = await client.metering({ body: meteringReport([wrong]) })
    assert.deepEqual(rejected, [{ index: 0, error: 'latest_handshake_at is not a time in the past' }])
    await assert.rejects(
      client.metering({ body: meteringReport([sample(id, { source_port: 0 })]) }),
      refused(422, /source_port/),
    )
  })
  await t.test('bytes never overflow', async () => {
    const id = newVpnSessionId()
    const most = Number.MAX_SAFE_INTEGER
    await client.metering({ body: meteringReport([sample(id, { rx_bytes: most }), sample(id, { rx_bytes: most })]) })
    await client.metering({ body: meteringReport([sample(id, { rx_bytes: most })]) })
    assert.equal((await get(id)).rx_bytes, most)
  })
  await t.test('a report can have ten thousand samples', async () => {
    const before = (await admin.listSessions({ query: { state: 'ended' } })).items.length
    assert.ok(before > 0)
    const samples = Array.from({ length: 10_000 }, () => sample(newVpnSessionId(), { state: 'ended' }))
    const answer = await client.metering({ body: meteringReport(samples) })
    assert.deepEqual([answer.accepted, answer.rejected.length], [10_000, 0])
  })
})
