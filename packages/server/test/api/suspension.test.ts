import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openGateway } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { startKit, times } from '../kit.ts'
import { call, enrollRaw, operation } from '../world.ts'

const devicesOfUser = 50
const gatewayCount = 3

test('a suspended user with 50 devices on 3 gateways is out everywhere within a second, and comes back', async (t) => {
  const kit = await startKit(t)
  const { admin, publicUrl: baseUrl, dispatcher } = kit
  const { user } = await admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
  const { token } = await admin.generateToken({ body: { max_uses: 0, user_id: user.user_id } })
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
  const start = performance.now()
  await admin.suspendUser({ body: { user_id: user.user_id } })
  await Promise.all(held)
  const took = performance.now() - start
  for (const { state } of gateways) {
    assert.equal(state!.peers.size, 0, 'no peer is left')
    assert.deepEqual([...state!.revokedDevices].sort(), ids)
    assert.equal(state!.revokedSessions.size, devicesOfUser)
  }
  assert.ok(took < 1000, `gateways heard of it after ${Math.round(took)} ms`)
  assert.deepEqual(await statuses(), new Set([401]))
  assert.deepEqual((await admin.listSessions()).items, [])

  await admin.reactivateUser({ body: { user_id: user.user_id } })
  for (const gateway of gateways) {
    await gateway.pull()
    assert.deepEqual([...gateway.state!.peers.keys()].sort(), ids)
  }
  assert.deepEqual(await statuses(), new Set([200]))
})
