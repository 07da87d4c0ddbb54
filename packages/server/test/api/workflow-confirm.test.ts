import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enroll } from '../gateways.ts'
import { startKit } from '../kit.ts'
import { lockDevice, withSlowGateway } from '../workflows.ts'

test('a gateway is waited for as far as the run changed things, however much is changed meanwhile', async (t) => {
  const kit = await startKit(t)
  const gateway = await withSlowGateway(kit)
  const [lost, other] = [await enroll(kit, 'lost'), await enroll(kit, 'other')]
  let isAnswered = false
  const running = lockDevice(kit, lost.id).finally(() => {
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
