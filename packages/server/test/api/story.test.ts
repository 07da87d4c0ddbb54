import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enrollDevice, openGateway } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { promptly, until } from '../support/deployment/wait-until.ts'

test('the whole story through the SDK: enroll, publish, apply, connect, meter, revoke, and all of it on record', async (t) => {
  const kit = await startKit(t)
  const { admin, dispatcher, publicUrl: baseUrl } = kit
  const stop = new AbortController()
  t.after(() => stop.abort())

  const { user } = await admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
  await admin.changeGroup({ body: { operation: 'create', group: { name: 'engineers', members: [user.user_id] } } })
  const pool = await admin.createGatewayPool({ body: { name: 'frankfurt', region: { code: 'eu-central' } } })
  const { gateway: registered, secret } = await admin.createGateway({
    params: { pool_id: pool.pool_id },
    body: { name: 'fra-1', endpoints: [{ host: 'fra-1.example.com', port: 51820, proto: 'udp' }] },
  })
  const { secret: token } = await admin.generateToken({ body: { max_uses: 2, user_id: user.user_id } })

  const wireguard_public_key = `${'A'.repeat(42)}E=`
  const device = await enrollDevice({
    baseUrl,
    token,
    dispatcher,
    device: { name: 'laptop', platform: 'linux', wireguard_public_key },
  })
  const bystander = await enrollDevice({ baseUrl, token, dispatcher, device: { name: 'phone', platform: 'ios' } })
  const gateway = await openGateway({
    baseUrl,
    secret,
    gatewayId: registered.gateway_id,
    tenantId: encodeId('tenant', kit.tenant),
    dispatcher,
  })
  let gatewayChanges = 0
  const pulling = gateway.runPulling({ signal: stop.signal, onChange: () => void gatewayChanges++ }).catch(() => {})
  let applied: string | null = null
  const polling = device
    .runPolling({
      signal: stop.signal,
      onPolicy: (policy) => {
        applied = policy?.digest ?? null
      },
    })
    .catch(() => {})

  await admin.publishPolicy({
    body: {
      channel: 'stable',
      policy: {
        schema: 'holdfast.policy/1',
        resources: { code: { cidrs: ['10.1.0.0/16'], ports: ['tcp/22'] } },
        rules: [{ id: 'code', action: 'allow', from: { groups: ['engineers'] }, to: ['code'], via: ['frankfurt'] }],
        tests: [
          { name: 'engineers reach code', from: { group: 'engineers' }, allow: ['code:tcp/22'], deny: ['10.2.0.1'] },
        ],
      },
    },
  })
  const current = async () => (await admin.getDevice({ params: { device_id: device.id } })).policy.digest
  const wanted = await current()
  await until(() => applied === wanted, 'the device applies its bundle')
  await until(() => gateway.state?.peers.get(device.id)?.variant === wanted, 'the gateway has its peer')
  assert.deepEqual(gateway.state!.peers.get(device.id)!.wireguard_keys, [
    { key: wireguard_public_key, not_after: null },
  ])

  await gateway.heartbeat({ active_sessions: 0 })
  const directory = await device.fetchDirectory()
  assert.deepEqual(
    directory.pools.map((p) => p.gateways.map((g) => g.name)),
    [['fra-1']],
  )

  const session_id = encodeId('vpn_session', crypto.randomUUID())
  const sample = { session_id, device_id: device.id, state: 'active', rx_bytes: 100, tx_bytes: 10 } as const
  assert.equal((await gateway.meter([sample])).accepted, 1)
  assert.equal((await gateway.meter([{ ...sample, rx_bytes: 23 }])).accepted, 1)
  const { items: sessions } = await admin.listSessions()
  assert.deepEqual(
    sessions.map((s) => [s.session_id, s.user_id, s.rx_bytes, s.tx_bytes, s.state]),
    [[session_id, user.user_id, 123, 20, 'active']],
  )
  await device.reportTelemetry([
    { event_id: crypto.randomUUID(), kind: 'policy_applied', at: new Date().toISOString(), policy_digest: wanted! },
  ])
  const [published] = (await admin.listPolicyBundles()).items
  assert.deepEqual(published!.adoption, { applied: 1, pending: 1 })

  await admin.publishPolicy({ body: { channel: 'canary', from: { channel: 'stable' }, rollout: { percent: 100 } } })
  await bystander.fetchBundle()
  assert.deepEqual([bystander.policy?.channel, bystander.policy?.version], ['canary', 2])
  await admin.publishPolicy({ body: { channel: 'stable', from: { channel: 'canary' } } })
  await bystander.fetchBundle()
  assert.deepEqual(
    [bystander.policy?.channel, bystander.policy?.version],
    ['stable', 3],
    'the same bytes, said of another version',
  )

  const revokedAt = performance.now()
  await admin.changeDevice({ body: { operation: 'revoke', device_id: device.id, reason: 'lost' } })
  await assert.rejects(device.pollDigest(), /missing or invalid credentials/)
  await until(() => gateway.state?.peers.has(device.id) === false, 'the gateway drops the peer')
  assert.ok(gateway.state!.revokedDevices.has(device.id))
  assert.ok(performance.now() - revokedAt < promptly, 'at once')
  await polling
  assert.equal((await admin.listSessions()).items.length, 0, 'its session ended')
  assert.equal((await admin.getSession({ params: { session_id } })).end_reason, 'revoked')
  assert.ok((await bystander.pollDigest()).pollSeconds > 0, 'nobody else is out')

  const kinds = new Set<string>((await admin.listAuditEvents({ query: { limit: 200 } })).items.map((e) => e.kind))
  for (const kind of [
    'enrollment_token.created',
    'device.enrolled',
    'policy.published',
    'gateway.created',
    'device.changed',
    'api_key.used',
  ])
    assert.ok(kinds.has(kind), kind)
  stop.abort()
  await pulling
})

test('at a stop held requests are answered and running ones finish', async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: {} })
  const device = await enrollDevice({
    baseUrl: kit.publicUrl,
    token,
    dispatcher: kit.dispatcher,
    device: { name: 'd', platform: 'linux' },
  })
  await device.fetchBundle()
  const held = device.pollDigest({ wait: 30 })
  await until(() => kit.app.policy.waiting() === 1, 'the request is held')
  const start = performance.now()
  const replica = kit.replicas.pop()!
  await replica.app.stop()
  assert.equal((await held).changed, false)
  assert.ok(performance.now() - start < promptly)
  await replica.dispatcher.destroy()
})
