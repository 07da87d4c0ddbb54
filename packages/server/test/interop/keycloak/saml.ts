import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { changeIdentityProvider } from '@holdfast/sdk'
import { openBrowser } from '../../support/clients/browser.ts'
import { send } from '../../support/clients/raw-http.ts'
import { startKit } from '../../support/deployment/deployment.ts'
import { opened } from '../../support/domain/notifications.ts'
import { whoIs } from '../../support/providers/oidc-sign-in.ts'
import { openProviderBrowser } from '../person.ts'
import { textOf } from './federated.ts'
import { makeRealm, newRealmName, passwordOf } from './realm.ts'
import type { Keycloak } from './server.ts'

const pathOf = (url: string) => new URL(url).pathname

/** A deployment with its own realm, whose client was made from our metadata. */
export async function startFederatedBySaml(t: TestContext, keycloak: Keycloak) {
  const kit = await startKit(t, { config: opened })
  const name = newRealmName()
  const metadata_url = `${keycloak.url}/realms/${name}/protocol/saml/descriptor`
  const made = await kit.admin.createIdentityProvider({
    body: {
      name: 'Keycloak',
      kind: 'saml',
      enabled: false,
      enrollment: true,
      provisioning: 'create',
      saml: { preset: 'keycloak', metadata_url, signed_response: true },
    },
  })
  assert.ok(made.saml)
  const { sp_entity_id, sp_metadata_url } = made.saml
  const realm = await makeRealm(keycloak, name, {})
  await realm.addSamlClient((await send(kit.url, { path: pathOf(sp_metadata_url) })).text)
  const params = { provider_id: made.provider_id }
  const set = (fields: Parameters<typeof changeIdentityProvider>[2]) =>
    changeIdentityProvider(kit.admin, { params }, fields)
  await set({ enabled: true })
  return { kit, realm, provider: made, acs_url: made.saml.acs_url, sp_entity_id, params, set }
}

export async function signInBySaml(t: TestContext, keycloak: Keycloak) {
  const { kit, realm, provider, acs_url, sp_entity_id, params, set } = await startFederatedBySaml(t, keycloak)
  const [client] = await realm.admin('GET', `/clients?clientId=${encodeURIComponent(sp_entity_id)}`)
  assert.deepEqual([client.protocol, client.redirectUris], ['saml', [acs_url]])
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'staff' } } })
  await set({ group_mappings: [{ value: '/staff/admins', group_id: group.group_id }] })

  async function away(username: string) {
    const browser = openBrowser(kit)
    const sent = await browser.get(`/admin/login/saml?provider=${provider.provider_id}`)
    assert.equal(sent.status, 303, sent.text)
    const login = { username, password: passwordOf(username) }
    const { at, form, text } = await openProviderBrowser()(String(sent.headers.location), login)
    return { browser, at, text, bring: () => browser.post(at.pathname, form ?? {}) }
  }
  async function signIn(username: string) {
    const { browser, at, text, bring } = await away(username)
    assert.equal(at.href, acs_url, `Keycloak keeps ${username}: ${textOf(text)}`)
    const answer = await bring()
    return { answer, bring, who: await whoIs(kit, browser.cookies.get('holdfast_session')) }
  }
  const reason = async () => {
    const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit: 1 } })).items
    return event && 'failure_reason' in event && event.failure_reason
  }

  const first = await signIn('anna')
  assert.deepEqual([first.answer.status, first.who], [200, 'anna'], first.answer.text)
  assert.equal((await first.bring()).status, 401, 'one response, one session')
  assert.equal((await signIn('ben')).who, 'ben')
  const { items } = await kit.admin.listUsers({ query: { source: 'sso', sort: 'username' } })
  assert.deepEqual(
    items.map((user) => [user.username, user.email, user.group_ids]),
    [
      ['anna', 'anna@example.com', [group.group_id]],
      ['ben', 'ben@example.com', []],
    ],
  )

  await realm.changeUser('ben', { enabled: false })
  assert.match(textOf((await away('ben')).text), /Account is disabled/)
  // A signature by a key that was not in the metadata when it was read is not accepted.
  await realm.addKey()
  assert.equal((await signIn('anna')).answer.status, 401)
  assert.equal(await reason(), 'saml:signature')
  assert.equal((await kit.admin.testIdentityProvider({ params })).ok, true)
  assert.equal((await signIn('anna')).who, 'anna')
  const late = await away('anna')
  await realm.change({ enabled: false })
  assert.equal((await late.bring()).status, 200, 'what was signed before counts')
  assert.equal((await away('anna')).at.origin, keycloak.url)
}
