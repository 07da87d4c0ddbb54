import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enrollDevice, openGateway } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { call, enrollRaw, operation } from '../support/actors/all-callers.ts'
import { report, withGateway } from '../support/actors/gateways.ts'
import { makeUser, signInAs, untilStatus } from '../support/actors/people.ts'
import { accountOf, signIn } from '../support/actors/sign-in.ts'
import { type Replica, startKit, times } from '../support/deployment/deployment.ts'
import { promptly, until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const devicesOfUser = 50
const gatewayCount = 3

test('a suspended user with 50 devices on 3 gateways is out everywhere at once, and comes back', async (t) => {
  const kit = await startKit(t)
  const { admin, publicUrl: baseUrl, dispatcher } = kit
  const { user } = await admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
  const { secret: token } = await admin.generateToken({ body: { max_uses: 0, user_id: user.user_id } })
  const devices = await times(devicesOfUser, (i) => enrollRaw(kit, token, `device ${i}`))
  const ids = devices.map((d) => d.id).sort()
  const pool = await admin.createGatewayPool({ body: { name: 'pool', region: { code: 'eu' } } })
  const rules = [{ id: 'all', action: 'allow', from: { any: true }, to: ['10.0.0.0/8'], via: ['pool'] }]
  await admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })
  const gateways = await times(gatewayCount, async (i) => {
    const { gateway, secret } = await admin.createGateway({
      params: { pool_id: pool.pool_id },
      body: { name: `gw-${i}` },
    })
    const names = { gatewayId: gateway.gateway_id, tenantId: encodeId('tenant', kit.tenant) }
    const opened = openGateway({ baseUrl, secret, dispatcher, ...names })
    await opened.pull()
    return opened
  })
  for (const [i, gateway] of gateways.entries()) {
    assert.deepEqual([...gateway.state!.peers.keys()].sort(), ids)
    const samples = devices
      .filter((_, n) => n % gatewayCount === i)
      .map((d) => ({
        session_id: encodeId('vpn_session', crypto.randomUUID()),
        device_id: d.id,
        state: 'active' as const,
        rx_bytes: 1,
        tx_bytes: 1,
      }))
    assert.equal((await gateway.meter(samples)).accepted, samples.length)
  }
  assert.equal((await admin.listSessions({ query: { limit: 200 } })).items.length, devicesOfUser)
  const statuses = async () =>
    new Set(
      (await times(devicesOfUser, (i) => call(kit, operation('policyDigest'), devices[i]!.caller))).map(
        (a) => a.status,
      ),
    )
  assert.deepEqual(await statuses(), new Set([200]))

  const held = gateways.map((gateway) => gateway.pull({ wait: 20 }))
  await new Promise((resolve) => setTimeout(resolve, 100))
  const { headers } = await call(kit, operation('policyDigest'), devices[0]!.caller)
  const waiting = devices.map(({ caller }) =>
    call(kit, operation('policyDigest'), (m, u) => ({
      ...caller(m, u),
      'if-none-match': String(headers.etag),
      prefer: 'wait=20',
    })),
  )
  await until(() => kit.app.policy.waiting() === devicesOfUser)
  const start = performance.now()
  await admin.suspendUser({ body: { user_id: user.user_id } })
  await Promise.all(held)
  const took = performance.now() - start
  assert.deepEqual(new Set((await Promise.all(waiting)).map((a) => a.status)), new Set([401]))
  const answered = performance.now() - start
  assert.ok(answered < promptly, `devices that waited heard of it after ${Math.round(answered)} ms`)
  for (const { state } of gateways) {
    assert.equal(state!.peers.size, 0, 'no peer is left')
    assert.deepEqual([...state!.revokedDevices].sort(), ids)
    assert.equal(state!.revokedSessions.size, devicesOfUser)
  }
  assert.ok(took < promptly, `gateways heard of it after ${Math.round(took)} ms`)
  assert.deepEqual(await statuses(), new Set([401]))
  assert.deepEqual((await admin.listSessions()).items, [])

  await admin.reactivateUser({ body: { user_id: user.user_id } })
  for (const gateway of gateways) {
    await gateway.pull()
    assert.deepEqual([...gateway.state!.peers.keys()].sort(), ids)
  }
  assert.deepEqual(await statuses(), new Set([200]))
})

test('a suspended user is stopped everywhere at once, devices and connections too, and comes back whole', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin, publicUrl: baseUrl } = kit
  const user_id = await makeUser(kit, 'ana', ['viewer'])
  const pool = await admin.createGatewayPool({ body: { name: 'pool', region: { code: 'eu' } } })
  const { gateway: made, secret } = await admin.createGateway({
    params: { pool_id: pool.pool_id },
    body: { name: 'gw' },
  })
  const rules = [{ id: 'all', action: 'allow', from: { any: true }, to: ['10.0.0.0/8'], via: ['pool'] }]
  await admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })
  const { secret: token } = await admin.generateToken({ body: { max_uses: 0, user_id } })
  const enroll = (name: string, on: Replica) =>
    enrollDevice({ baseUrl, token, dispatcher: on.dispatcher, device: { name, platform: 'linux' } })
  const [here, there] = kit.replicas as [Replica, Replica]
  const devices = [await enroll('laptop', here), await enroll('phone', there), await enroll('lost', there)]
  const [laptop, phone, lost] = devices.map((d) => d.id) as [string, string, string]
  await admin.changeDevice({ body: { operation: 'revoke', device_id: lost } })
  const names = { gatewayId: made.gateway_id, tenantId: encodeId('tenant', kit.tenant) }
  const gateways = kit.replicas.map((r) => openGateway({ baseUrl, secret, ...names, dispatcher: r.dispatcher }))
  await kit.heard()
  for (const gateway of gateways) await gateway.pull()
  const peers = () => gateways.map((g) => [...(g.state?.peers.keys() ?? [])].sort())
  const both = [laptop, phone].sort()
  assert.deepEqual(peers(), [both, both])
  const sample = (device_id: string) => ({
    session_id: encodeId('vpn_session', crypto.randomUUID()),
    device_id,
    state: 'active' as const,
    rx_bytes: 1,
    tx_bytes: 1,
  })
  assert.equal((await gateways[0]!.meter([sample(laptop), sample(phone)])).accepted, 2)
  const person = await signInAs(kit, 'ana')

  const at = performance.now()
  const suspended = await admin.suspendUser({ body: { user_id, reason: 'left' } })
  assert.deepEqual([suspended.changed, suspended.sessions_terminated], [true, 3])
  for (const [i, replica] of kit.replicas.entries()) {
    await untilStatus(() => person.get('/v1/admin/me', replica), 401)
    await untilStatus(
      () =>
        devices[i]!.pollDigest().then(
          () => ({ status: 200 }),
          () => ({ status: 401 }),
        ),
      401,
    )
    while (peers()[i]!.length > 0) {
      await gateways[i]!.pull()
      assert.ok(performance.now() - at < promptly, 'a gateway still has a peer')
    }
    assert.equal((await signIn(replica.url, accountOf('ana'))).status, 401)
  }
  assert.ok(performance.now() - at < promptly, `${performance.now() - at} ms`)
  assert.deepEqual((await admin.listSessions()).items, [])
  const late = await gateways[0]!.meter([sample(laptop)])
  assert.equal(late.accepted, 1)
  assert.deepEqual((await admin.listSessions()).items, [], 'what a gateway still reports is over at once')

  const back = await admin.reactivateUser({ body: { user_id } })
  assert.deepEqual([back.changed, back.user.status], [true, 'active'])
  assert.equal((await admin.reactivateUser({ body: { user_id } })).changed, false)
  for (const [i, replica] of kit.replicas.entries()) {
    await untilStatus(
      () =>
        devices[i]!.pollDigest().then(
          () => ({ status: 200 }),
          () => ({ status: 401 }),
        ),
      200,
    )
    const deadline = performance.now() + promptly
    while (peers()[i]!.length < 2) {
      await gateways[i]!.pull()
      assert.ok(performance.now() < deadline, 'a gateway has not got its peers back')
    }
    assert.equal((await signIn(replica.url, accountOf('ana'))).status, 200)
  }
  assert.deepEqual(peers(), [both, both])
  assert.equal((await person.get('/v1/admin/me')).status, 401, 'the old session stays ended')
  await assert.rejects(devices[2]!.pollDigest(), 'what was revoked stays revoked')
})

test('every way that ends VPN sessions names them in one event, with its cause', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { client, gateway } = await withGateway(kit)
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'all' } } })
  /** A user with two devices, each with a session. */
  async function connected(name: string) {
    const { user } = await admin.changeUser({
      body: { operation: 'create', user: { username: name, group_ids: [group.group_id] } },
    })
    const { secret } = await admin.generateToken({ body: { max_uses: 0, user_id: user.user_id } })
    const devices = await times(2, (i) => enrollRaw(kit, secret, `${name} ${i}`))
    const samples = devices.map((d) => ({
      session_id: encodeId('vpn_session', crypto.randomUUID()),
      device_id: d.id,
      state: 'active' as const,
      rx_bytes: 1,
      tx_bytes: 1,
    }))
    assert.equal((await client.metering({ body: report(samples) as never })).accepted, 2)
    const [first = '', second = ''] = samples.map((s) => s.session_id)
    return { user_id: user.user_id, device_id: devices[0]!.id, first, both: [first, second].sort() }
  }
  const lock = async (type: 'user' | 'device' | 'group' | 'gateway', id: string) => {
    const { lock } = await admin.createLock({ body: { target: { type, id }, reason: 'tried' } })
    return () => admin.releaseLock({ params: { lock_id: lock.lock_id }, body: {} })
  }
  type Connected = Awaited<ReturnType<typeof connected>>
  /** All but the locks go by `modules/offboarding`. */
  const ways: Record<string, [ends: (c: Connected) => Promise<unknown>, reason: string, which: 'first' | 'both']> = {
    'a user is suspended': [({ user_id }) => admin.suspendUser({ body: { user_id } }), 'suspended', 'both'],
    'a user is deleted': [
      ({ user_id }) => admin.changeUser({ body: { operation: 'delete', user_id } }),
      'revoked',
      'both',
    ],
    'a device is suspended': [
      ({ device_id }) => admin.changeDevice({ body: { operation: 'suspend', device_id } }),
      'suspended',
      'first',
    ],
    'a device is revoked': [
      ({ device_id }) => admin.changeDevice({ body: { operation: 'revoke', device_id } }),
      'revoked',
      'first',
    ],
    'devices are suspended together': [
      ({ device_id }) => admin.changeDevices({ body: { operation: 'suspend', device_ids: [device_id] } }),
      'suspended',
      'first',
    ],
    'a user is locked': [({ user_id }) => lock('user', user_id), 'suspended', 'both'],
    'a device is locked': [({ device_id }) => lock('device', device_id), 'suspended', 'first'],
    'a group is locked': [async () => (await lock('group', group.group_id))(), 'suspended', 'both'],
    'a gateway is locked': [() => lock('gateway', gateway.gateway_id), 'suspended', 'both'],
  }
  let n = 0
  for (const [what, [end, reason, which]] of Object.entries(ways)) {
    const c = await connected(`person-${++n}`)
    await end(c)
    const [event] = await eventsOf(kit, 'vpn_session.terminated')
    const named = which === 'both' ? c.both : [c.first]
    const ended = event?.session_ids.filter((id) => named.includes(id)).sort()
    assert.deepEqual([ended, event?.reason, event?.actor.type], [named, reason, 'api_key'], what)
    assert.equal(event?.details?.terminated, event?.session_ids.length, what)
  }
})
