import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeviceEndedError, type DeviceStatus, enrollDevice } from '@holdfast/sdk'
import { startKit } from '../support/deployment/deployment.ts'

test('a device polls through approval, suspension and its user, and ends only when it is revoked', async (t) => {
  const kit = await startKit(t)
  const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
  const { user_id } = user
  const { secret: token } = await kit.admin.generateToken({ body: { user_id, requires_approval: true } })
  const device = await enrollDevice({
    baseUrl: kit.publicUrl,
    dispatcher: kit.dispatcher,
    token,
    device: { name: 'laptop', platform: 'linux' },
  })
  const move = (operation: 'approve' | 'suspend' | 'reactivate' | 'revoke') => () =>
    kit.admin.changeDevice({ body: { operation, device_id: device.id } })
  const steps: (() => Promise<unknown>)[] = [
    move('approve'),
    move('suspend'),
    move('reactivate'),
    () => kit.admin.suspendUser({ body: { user_id } }),
    () => kit.admin.reactivateUser({ body: { user_id } }),
    move('revoke'),
  ]
  const seen: string[] = []
  const done: Promise<unknown>[] = []
  const onStatus = ({ status }: DeviceStatus) => {
    seen.push(status)
    const step = steps.shift()
    if (step) done.push(step())
  }
  const { signal } = new AbortController()
  const running = device.runPolling({ signal, onPolicy: () => {}, onStatus, wait: 2, slow: 0.1 })
  await assert.rejects(running, (e) => e instanceof DeviceEndedError && e.code === 'revoked')
  await Promise.all(done)
  assert.deepEqual(seen, ['pending', 'active', 'suspended', 'active', 'suspended', 'active'])
})
