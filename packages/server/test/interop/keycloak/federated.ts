import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { changeIdentityProvider } from '@holdfast/sdk'
import { type Browser, openBrowser } from '../../support/clients/browser.ts'
import { startKit } from '../../support/deployment/deployment.ts'
import { opened } from '../../support/domain/notifications.ts'
import { whoIs } from '../../support/providers/oidc-sign-in.ts'
import { openProviderBrowser } from '../person.ts'
import { clientSecret, laptops, makeRealm, newRealmName, passwordOf } from './realm.ts'
import type { Keycloak } from './server.ts'

/**
 * A deployment whose users sign in and enroll at a Keycloak realm of its own. `settings` override the provider's
 * settings.
 */
export async function startFederated(
  t: TestContext,
  keycloak: Keycloak,
  settings: Parameters<typeof changeIdentityProvider>[2] = {},
) {
  const kit = await startKit(t, { config: opened })
  const name = newRealmName()
  const made = await kit.admin.createIdentityProvider({
    body: {
      name: 'Keycloak',
      kind: 'keycloak',
      enabled: false,
      enrollment: true,
      provisioning: 'create',
      oidc: {
        issuer: `${keycloak.url}/realms/${name}`,
        client_id: 'holdfast',
        client_secret: clientSecret,
        mobile_client_ids: [laptops],
      },
    },
  })
  const { redirect_uri, backchannel_logout_uri } = made.oidc!
  const addresses = {
    redirectUris: [redirect_uri],
    signedOut: `${kit.publicUrl}/admin/signed-out`,
    // Keycloak itself calls this URL.
    loggedOut: backchannel_logout_uri.replace(kit.publicUrl, kit.url),
  }
  const realm = await makeRealm(keycloak, name, addresses)
  const params = { provider_id: made.provider_id }
  const set = (fields: Parameters<typeof changeIdentityProvider>[2]) =>
    changeIdentityProvider(kit.admin, { params }, fields)
  await set({ enabled: true, ...settings })

  const start = `/admin/login/oidc?provider=${made.provider_id}`
  /** Signs in at Keycloak with a browser. Returns the redirect that Keycloak sent, or the page on which it stopped. */
  async function away(username: string, browser: Browser = openBrowser(kit)) {
    const sent = await browser.get(start)
    assert.equal(sent.status, 303, sent.text)
    const login = { username, password: passwordOf(username) }
    const { at, text } = await openProviderBrowser()(String(sent.headers.location), login)
    return { browser, at, text, path: at.pathname + at.search }
  }
  async function signIn(username: string) {
    const { browser, at, text, path } = await away(username)
    assert.equal(at.origin, kit.publicUrl, `Keycloak keeps ${username}: ${textOf(text)}`)
    const answer = await browser.get(path)
    return { browser, answer, who: await whoIs(kit, browser.cookies.get('holdfast_session')) }
  }
  return {
    kit,
    realm,
    provider: made,
    params,
    set,
    start,
    away,
    signIn,
    /** The reasons of the newest refused sign-ins, newest first. */
    reasons: async (limit = 1) =>
      (await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit } })).items.map(
        (event) => 'failure_reason' in event && event.failure_reason,
      ),
    userNamed: async (username: string) => {
      const { items } = await kit.admin.listUsers({ query: { q: username } })
      return items.find((user) => user.username === username) ?? assert.fail(`there is no ${username}`)
    },
  }
}
export type Federated = Awaited<ReturnType<typeof startFederated>>

/** The text of an HTML page. */
export const textOf = (page: string): string =>
  page.replaceAll(/<(script|style)\b.*?<\/\1>|<[^>]+>|\s+/gis, ' ').replaceAll(/ +/g, ' ')
