import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signIn } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { bearer, call, deviceCaller, enrollRaw, operation } from '../support/actors/all-callers.ts'
import { enroll } from '../support/actors/gateways.ts'
import { adminPassword, startKit } from '../support/deployment/deployment.ts'
import { assertionOf, publishChecks, reasonsOf, relied, report } from '../support/domain/posture.ts'

test('a device asks about itself: tenant, user and device are those of its credential, and still hold', async (t) => {
  const kit = await startKit(t)
  const make = async (username: string) =>
    (await kit.admin.changeUser({ body: { operation: 'create', user: { username } } })).user.user_id
  const [anna, ben] = [await make('anna'), await make('ben')]
  const { secret } = await kit.admin.generateToken({ body: { user_id: anna, max_uses: 0 } })
  const [own, other] = [await enrollRaw(kit, secret, 'own'), await enrollRaw(kit, secret, 'other')]
  const tenant = encodeId('tenant', kit.tenant)
  const foreign = encodeId('tenant', await kit.newTenant())
  const right = { tenant_id: tenant, user_id: anna, device_id: own.id }
  const ask = (query: object) => assertionOf(kit, own, `?${new URLSearchParams({ ...query })}`)
  assert.equal((await ask({})).status, 200)
  assert.equal((await ask(right)).status, 200)
  for (const [name, value] of [
    ...[foreign, 'tnt_nonsense', ''].map((id) => ['tenant_id', id]),
    ...[ben, 'usr_nonsense', ''].map((id) => ['user_id', id]),
    ...[other.id, 'dev_nonsense', ''].map((id) => ['device_id', id]),
  ] as [string, string][]) {
    const refused = await ask({ ...right, [name]: value })
    const isId = /_[0-9a-z]{26}$/.test(value)
    const expected = isId || name === 'tenant_id' ? [403, 'forbidden'] : [400, 'bad_request']
    assert.deepEqual([name, value, refused.status, refused.json.error], [name, value, ...expected])
  }

  await kit.admin.changeDevice({ body: { operation: 'update', device_id: own.id, device: { user_id: ben } } })
  for (const query of [{}, { user_id: anna }, { user_id: ben }]) {
    const refused = await ask(query)
    assert.deepEqual([refused.status, refused.json.error], [403, 'forbidden'], 'the credential speaks of another user')
  }
  const { credential } = (await call(kit, operation('renewCredential'), own.caller, {})).json
  const renewed = { ...own, caller: deviceCaller(String(credential), own.key) }
  const answer = await assertionOf(kit, renewed, `?user_id=${ben}`)
  assert.equal(answer.status, 200, answer.text)
  assert.equal((await relied(kit, String(answer.json.assertion), null)).userId, ben)
})

test("an administrator names a device; another tenant's is the same 404 as one that nobody has", async (t) => {
  const kit = await startKit(t)
  const laptop = await enroll(kit, 'laptop')
  const foreign = await kit.newTenant()
  const theirs = await enroll(kit, 'theirs', { admin: await kit.as('tenant_admin', foreign) })
  const ask = (caller: ReturnType<typeof bearer>, query: string) =>
    call(kit, operation('postureAssertion'), caller, undefined, query)
  const own = bearer(await kit.keyFor('auditor'))
  const good = await ask(own, `?device_id=${laptop.id}`)
  assert.equal(good.status, 200, good.text)
  assert.equal((await relied(kit, String(good.json.assertion), null)).deviceId, laptop.id)

  const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'anna' } } })
  const missing = [
    `?device_id=${theirs.id}`,
    `?device_id=${encodeId('device', crypto.randomUUID())}`,
    `?device_id=${laptop.id}&user_id=${user.user_id}`,
  ]
  const answers = await Promise.all(missing.map((query) => ask(own, query)))
  const bodies = answers.map(({ status, json }) => [status, json.error, json.detail])
  assert.deepEqual(bodies, Array(3).fill([404, 'not_found', 'no such device']))
  assert.equal((await ask(own, '')).status, 400, 'it has no device of its own')

  const platform = bearer(kit.adminKey)
  const scoped = `?device_id=${theirs.id}&tenant_id=${encodeId('tenant', foreign)}`
  assert.equal((await ask(platform, scoped)).status, 200)
  assert.equal((await ask(own, scoped)).status, 403)
  for (const role of ['viewer', 'helpdesk'] as const)
    assert.equal((await ask(bearer(await kit.keyFor(role)), `?device_id=${laptop.id}`)).status, 403, role)
  const { cookie } = await signIn({
    baseUrl: kit.publicUrl,
    username: 'admin',
    password: adminPassword,
    dispatcher: kit.dispatcher,
  })
  assert.equal((await ask(() => ({ cookie }), `?device_id=${laptop.id}`)).status, 200)
})

test('whoever is shut out is never vouched for, whatever was reported', async (t) => {
  const kit = await startKit(t)
  await publishChecks(kit)
  const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'anna' } } })
  const { user_id } = user
  const { secret } = await kit.admin.generateToken({ body: { user_id, max_uses: 0, requires_approval: true } })
  const laptop = await enrollRaw(kit, secret)
  const query = { device_id: laptop.id }
  const change = (operation: 'approve' | 'suspend' | 'reactivate' | 'revoke') =>
    kit.admin.changeDevice({ body: { operation, ...query } })
  const expect = async (status: string, ...reasons: string[]) => {
    const told = await kit.admin.postureAssertion({ query })
    assert.deepEqual([told.status, ...reasonsOf(told.reasons)], [status, ...reasons])
    assert.equal((await relied(kit, told.assertion, null)).status, status)
  }
  await expect('contraindicated', 'device_pending')
  assert.equal((await assertionOf(kit, laptop)).json.status, 'contraindicated', 'it is told so itself')
  await change('approve')
  await report(kit, laptop, { 'disk.encrypted': true })
  await expect('affirming')
  await change('suspend')
  await expect('contraindicated', 'device_suspended')
  assert.equal((await assertionOf(kit, laptop)).status, 401)
  await kit.admin.suspendUser({ body: { user_id } })
  await expect('contraindicated', 'device_suspended', 'user_suspended')
  await change('reactivate')
  await expect('contraindicated', 'user_suspended')
  assert.equal((await assertionOf(kit, laptop)).status, 401)
  await kit.admin.reactivateUser({ body: { user_id } })
  await expect('affirming')
  await change('revoke')
  await expect('contraindicated', 'device_revoked')
  assert.equal((await assertionOf(kit, laptop)).status, 401)
})
