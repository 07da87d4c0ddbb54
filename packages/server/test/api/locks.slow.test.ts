import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enroll, publish, refused, rule } from '../gateways.ts'
import { startKit } from '../kit.ts'
import { until } from '../promptly.ts'
import { followingGateways } from '../workflows.ts'

test('a lock binds within a second, on two replicas and at its gateways', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const gateways = await followingGateways(kit, 10)
  await publish(kit, [rule('all', { any: true }, ['pool'])])
  const device = await enroll(kit, 'laptop')
  const peers = (count: number) => gateways.every(({ gateway }) => gateway.state!.peers.size === count)
  await until(() => peers(1), 'the gateways know it')
  for (const target of [{ type: 'device', id: device.id }, { type: 'tenant' }] as const) {
    const began = performance.now()
    const { lock } = await kit.admin.createLock({ body: { target, reason: 'tried' } })
    const other = kit.replicas[1]!
    await until(
      () =>
        device
          .at(other)
          .policyDigest()
          .then(() => false, refused(401)),
      'another replica refuses it',
    )
    await until(() => peers(0), 'no gateway has it')
    const took = Math.round(performance.now() - began)
    t.diagnostic(`${target.type}: bound ${took} ms after the call`)
    assert.ok(took <= 1000, `${target.type}: after ${took} ms`)
    await kit.admin.releaseLock({ params: { lock_id: lock.lock_id }, body: {} })
    await until(() => peers(1), 'the gateways have it again')
  }
})
