import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { trySignIn } from '../../support/actors/people.ts'
import { adminPassword } from '../../support/deployment/deployment.ts'
import { startFederated, textOf } from './federated.ts'
import { clientSecret, passwordOf, person } from './realm.ts'
import type { Keycloak } from './server.ts'

export async function groupsAndRoles(t: TestContext, keycloak: Keycloak) {
  const { kit, realm, provider, set, away, signIn, reasons, userNamed } = await startFederated(t, keycloak)
  const tested = await kit.admin.testIdentityProvider({ params: { provider_id: provider.provider_id } })
  assert.ok(tested.ok && tested.found)
  assert.equal(tested.found.device_authorization_endpoint, `${realm.issuer}/protocol/openid-connect/auth/device`)
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'staff' } } })
  await set({
    group_mappings: [{ value: '/staff/admins', group_id: group.group_id }],
    role_mappings: [{ value: '/staff/admins', role: 'auditor' }],
  })

  const { answer, who } = await signIn('anna')
  assert.deepEqual([answer.status, who], [200, 'anna'])
  const anna = await userNamed('anna')
  assert.deepEqual(
    [anna.email, anna.display_name, anna.roles, anna.group_ids, anna.source],
    ['anna@example.com', 'anna Example', ['auditor'], [group.group_id], 'sso'],
  )
  const account = { provider_id: provider.provider_id, issuer: realm.issuer, subject: await realm.userId('anna') }
  const { items: links } = await kit.admin.listUserIdentities({ params: { user_id: anna.user_id } })
  assert.deepEqual(
    links.map(({ provider_id, issuer, subject }) => ({ provider_id, issuer, subject })),
    [account],
  )
  const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'login.succeeded', limit: 1 } })).items
  assert.ok(event && 'auth_method' in event)
  assert.equal(event.auth_method, 'keycloak')

  assert.equal((await signIn('ben')).who, 'ben')
  assert.deepEqual((await userNamed('ben')).roles, [])
  await realm.admin('DELETE', `/users/${account.subject}/groups/${await realm.groupId('/staff/admins')}`)
  assert.equal((await signIn('anna')).who, 'anna')
  const moved = await userNamed('anna')
  assert.deepEqual([moved.roles, moved.group_ids], [[], []])

  // A code opens one session only.
  const once = await away('anna')
  assert.equal((await once.browser.get(once.path)).status, 200)
  assert.equal((await once.browser.get(once.path)).status, 401)
  await set({ oidc: { client_secret: 'another secret' } })
  assert.equal((await signIn('anna')).answer.status, 401)
  assert.deepEqual(await reasons(), ['keycloak:client'])
  await set({ oidc: { client_secret: clientSecret } })
  assert.equal((await signIn('anna')).who, 'anna')
}

export async function disabledAndRemoved(t: TestContext, keycloak: Keycloak) {
  const { kit, realm, away, signIn, reasons, userNamed } = await startFederated(t, keycloak)
  assert.equal((await signIn('anna')).who, 'anna')
  const back = await away('anna')
  assert.equal(back.at.origin, kit.publicUrl)
  await realm.changeUser('anna', { enabled: false })
  assert.equal((await back.browser.get(back.path)).status, 401)
  assert.deepEqual(await reasons(), ['keycloak:code'], 'a code from before it is worth nothing')
  const kept = await away('anna')
  assert.equal(kept.at.origin, keycloak.url)
  assert.match(textOf(kept.text), /Account is disabled/)
  await realm.changeUser('anna', { enabled: true })
  assert.equal((await signIn('anna')).who, 'anna')

  // A new user with the name of a deleted one is another user.
  await realm.admin('DELETE', `/users/${await realm.userId('anna')}`)
  await realm.admin('POST', '/users', person('anna'))
  assert.equal((await signIn('anna')).answer.status, 401)
  assert.deepEqual(await reasons(), ['keycloak:username_taken'])
  const user = await userNamed('anna')
  assert.equal((await trySignIn(kit, 'anna', { password: passwordOf('anna') })).status, 401)
  await assert.rejects(kit.admin.changePassword({ body: { user_id: user.user_id, generate: true } }), { status: 422 })
  assert.equal((await trySignIn(kit, 'admin', { password: adminPassword })).status, 200)
}
