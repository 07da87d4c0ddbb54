import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enroll, open, publish, rule, withGateway } from '../gateways.ts'
import { type Kit, startKit, times } from '../kit.ts'
import { until } from '../promptly.ts'

/** A gateway of which only is heard that it is there, until it says more. */
async function withSlowGateway(kit: Kit) {
  const gateway = open(kit, await withGateway(kit, 'g1', 'pool'))
  await publish(kit, [rule('all', { any: true }, ['pool'])])
  await gateway.heartbeat({ active_sessions: 0 })
  return gateway
}
const lock = (kit: Kit, device_id: string) =>
  kit.admin.runPlaybook({ body: { playbook: 'lost_device', params: { device_id, revoke: false } } })

test('a gateway is waited for as far as the run changed things, however much is changed meanwhile', async (t) => {
  const kit = await startKit(t)
  const gateway = await withSlowGateway(kit)
  const [lost, other] = [await enroll(kit, 'lost'), await enroll(kit, 'other')]
  let isAnswered = false
  const running = lock(kit, lost.id).finally(() => {
    isAnswered = true
  })
  // Whatever it says, something was changed since.
  for (let i = 0; !isAnswered; i++) {
    await gateway.pull()
    gateway.confirm()
    const operation = i % 2 ? 'reactivate' : 'suspend'
    await kit.admin.changeDevice({ body: { operation, device_id: other.id } })
    await gateway.heartbeat({ active_sessions: 0 })
  }
  const { run } = await running
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
})

test('runs that wait for a gateway keep nobody from acting', async (t) => {
  const kit = await startKit(t)
  const gateway = await withSlowGateway(kit)
  const devices = await times(6, (i) => enroll(kit, `device ${i}`))
  const running = Promise.all(devices.map(({ id }) => lock(kit, id)))
  await until(async () => (await kit.admin.listLocks()).items.length === devices.length, 'all are locked')
  await gateway.pull()
  gateway.confirm()
  await gateway.heartbeat({ active_sessions: 0 })
  assert.deepEqual(new Set((await running).map(({ run }) => run.status)), new Set(['succeeded']))
})
