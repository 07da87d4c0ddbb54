import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeIdentityProvider } from '@holdfast/sdk'
import { attemptWithNewChallenge, startOidcEnrollment as startOidc } from '../support/actors/oidc-enrollment.ts'
import { setLimits, usedOf } from '../support/domain/tenant-limits.ts'
import { startFederated } from '../support/providers/oidc-sign-in.ts'

test('the user limit refuses a person whom the provider would create, and not an existing user', async (t) => {
  const people = { anna: { name: 'anna' }, ben: { name: 'ben' } }
  const { kit, signIn, set, reasons } = await startFederated(t, { people })
  await set({ provisioning: 'create' })
  assert.equal((await signIn('anna')).answer.status, 200)
  await setLimits(kit, { users: await usedOf(kit, 'users') })
  const { answer } = await signIn('ben')
  assert.equal(answer.status, 401, 'the answer has no reason')
  assert.deepEqual(await reasons(1), ['oidc:no_place_left'])
  assert.equal((await signIn('anna')).answer.status, 200)
  await setLimits(kit, { users: null })
  assert.equal((await signIn('ben')).answer.status, 200)
})

test('an enrollment by a provider that exceeds the device limit creates no user', async (t) => {
  const w = await startOidc(t)
  const { kit, provider } = w
  await changeIdentityProvider(kit.admin, { params: { provider_id: provider.provider_id } }, { provisioning: 'create' })
  await setLimits(kit, { devices: 0 })
  const before = await usedOf(kit, 'users')
  const refused = await attemptWithNewChallenge(w, { claims: { sub: 'eve', preferred_username: 'eve' } })
  assert.deepEqual([refused.status, refused.json.error], [409, 'entitlement_exceeded'])
  assert.equal(await usedOf(kit, 'users'), before)
  await setLimits(kit, { devices: 1, users: before })
  assert.equal((await attemptWithNewChallenge(w, { claims: { sub: 'eve', preferred_username: 'eve' } })).status, 409)
  assert.equal((await attemptWithNewChallenge(w)).status, 201, 'an existing user enrolls')
})
