import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProof, generateKey } from '@holdfast/crypto'
import { changeSecuritySettings } from '@holdfast/sdk'
import { bearer, type Caller, call, deviceCaller, operation } from '../support/clients/api-calls.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { endAtEachStatement, withKey } from './claims.ts'

test('a change under an Idempotency-Key is made once, interrupted at some of its statements', (t) =>
  endAtEachStatement(t, { from: 5, step: 20 }))

test('repeated requests under one key', async (t) => {
  const kit = await startKit(t, { replicas: 2 })

  await t.test('twenty concurrent requests under one key make one change', async () => {
    const caller = withKey(bearer(kit.adminKey), 'same')
    const answers = await times(20, (i) =>
      call({ ...kit, ...kit.replicas[i % 2]! }, operation('changeUser'), caller, {
        operation: 'create',
        user: { username: 'only-one' },
      }),
    )
    assert.equal((await kit.admin.listUsers({ query: { q: 'only-one' } })).items.length, 1)
    for (const a of answers) assert.ok(a.status === 201 || /still running/.test(a.text), a.text)
  })

  await t.test('an answer with a credential is repeated only to the key that proved itself', async () => {
    const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
    const enroll = operation('enroll')
    const body = { device: { name: 'laptop', platform: 'linux' } }
    const [own, other] = [generateKey('ES256').privateJwk, generateKey('ES256').privateJwk]
    const ask = (caller: Caller) => call(kit, enroll, withKey(caller, 'enroll-1'), body)
    const first = await ask(deviceCaller(token, own))
    assert.equal(first.status, 201, first.text)
    assert.equal((await ask(deviceCaller(token, own))).text, first.text)
    const stranger = await ask(deviceCaller(token, other))
    assert.equal(stranger.status, 422)
    assert.doesNotMatch(stranger.text, /eyJ/)
    // A header that names the key without a valid signature proves nothing.
    const forged: Caller = (method, url) => {
      const [head, claims] = createProof(own, { method, url, accessToken: token, now: new Date() }).split('.')
      return { authorization: `Bearer ${token}`, dpop: `${head}.${claims}.${'A'.repeat(86)}` }
    }
    assert.equal((await ask(forged)).status, 401)
    assert.equal((await ask(bearer(token))).status, 422)
    assert.equal((await kit.admin.listDevices()).items.length, 1)

    // Without a proof there is no caller to whom the stored answer could be repeated.
    await changeSecuritySettings(kit.admin, { devices: { require_device_key: false } })
    const keyless = () => call(kit, enroll, withKey(bearer(token), 'enroll-2'), body)
    assert.equal((await keyless()).status, 201)
    const repeated = await keyless()
    assert.deepEqual([repeated.status, /succeeded, but its response/.test(repeated.text)], [422, true], repeated.text)
  })
})
