import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { bearer, call, enrollRaw, operation } from '../support/actors/all-callers.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { promptly } from '../support/deployment/wait-until.ts'
import { watchBackends } from './backends.ts'

test('a replica that is asked to stop is not ready at once, serves on, answers who waits, and then closes', async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const devices = await times(3, (i) => enrollRaw(kit, token, `device ${i}`))
  const rules = [{ id: 'all', action: 'allow', from: { any: true }, to: ['10.0.0.0/8'] }]
  await kit.admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })
  const digest = operation('policyDigest')
  const held = devices.map(async (device) => {
    const first = await call(kit, digest, device.caller)
    return call(kit, digest, (method, url) => ({
      ...device.caller(method, url),
      prefer: 'wait=30',
      'if-none-match': String(first.headers.etag),
    }))
  })
  await delay(300)
  assert.equal((await call(kit, operation('ready'), null)).status, 200)
  const drained = kit.app.drain(3)
  const ready = await call(kit, operation('ready'), null)
  assert.deepEqual([ready.status, ready.headers.connection], [503, 'close'], 'not ready at once')
  let served = 0
  for (const end = performance.now() + 700; performance.now() < end; served++) {
    const answer = await call(kit, operation('listUsers'), bearer(kit.adminKey))
    assert.deepEqual([answer.status, answer.headers.connection], [200, 'close'])
  }
  const answers = await Promise.all(held)
  for (const a of answers) assert.deepEqual([[200, 304].includes(a.status), a.headers.connection], [true, 'close'])
  await drained
  await assert.rejects(call(kit, operation('health'), null), 'it takes no connection any more')
  console.log(
    `# drained: ${served} requests served meanwhile, ${answers.length} of ${answers.length} held ones answered, 0 failed`,
  )
})

test('a replica whose writes fail is soon not ready, and is again when they succeed', async (t) => {
  const kit = await startKit(t, { slowness: 1 })
  const backends = await watchBackends(t, kit)
  const ready = async () => (await call(kit, operation('ready'), null)).status
  const until = async (status: number) => {
    const start = performance.now()
    while ((await ready()) !== status) await delay(50)
    return Math.round(performance.now() - start)
  }
  await until(200)
  await backends.client.query('begin; lock table replicas in exclusive mode')
  const lost = await until(503)
  assert.equal((await call(kit, operation('listUsers'), bearer(kit.adminKey))).status, 200, 'reads go on')
  await backends.client.query('rollback')
  const found = await until(200)
  assert.ok(lost < promptly && found < promptly, `${lost} ms, ${found} ms`)
  console.log(`# writes fail: not ready after ${lost} ms, ready again ${found} ms after they succeed`)
})
