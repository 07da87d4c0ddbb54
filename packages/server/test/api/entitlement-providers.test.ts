import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeIdentityProvider } from '@holdfast/sdk'
import { fresh, start as startOidc } from '../support/actors/oidc-enrollment.ts'
import { limit, usedOf } from '../support/domain/tenant-limits.ts'
import { startFederated } from '../support/providers/oidc-sign-in.ts'

test('whoever a provider would make a user of finds no place; whoever is one signs in', async (t) => {
  const people = { anna: { name: 'anna' }, ben: { name: 'ben' } }
  const { kit, signIn, set, reasons } = await startFederated(t, { people })
  await set({ provisioning: 'create' })
  assert.equal((await signIn('anna')).answer.status, 200)
  await limit(kit, { users: await usedOf(kit, 'users') })
  const { answer } = await signIn('ben')
  assert.equal(answer.status, 401, 'nobody is told why')
  assert.deepEqual(await reasons(1), ['oidc:no_place_left'])
  assert.equal((await signIn('anna')).answer.status, 200)
  await limit(kit, { users: null })
  assert.equal((await signIn('ben')).answer.status, 200)
})

test('an enrollment by a provider that finds no place for its device leaves no user', async (t) => {
  const w = await startOidc(t)
  const { kit, provider } = w
  await changeIdentityProvider(kit.admin, { params: { provider_id: provider.provider_id } }, { provisioning: 'create' })
  await limit(kit, { devices: 0 })
  const before = await usedOf(kit, 'users')
  const refused = await fresh(w, { claims: { sub: 'eve', preferred_username: 'eve' } })
  assert.deepEqual([refused.status, refused.json.error], [409, 'entitlement_exceeded'])
  assert.equal(await usedOf(kit, 'users'), before)
  await limit(kit, { devices: 1, users: before })
  assert.equal((await fresh(w, { claims: { sub: 'eve', preferred_username: 'eve' } })).status, 409)
  assert.equal((await fresh(w)).status, 201, 'whoever is there enrolls')
})
