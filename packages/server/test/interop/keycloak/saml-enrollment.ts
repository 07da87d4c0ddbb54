import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { beginSamlEnrollment } from '@holdfast/sdk'
import { openBrowser } from '../../browser.ts'
import { openKeycloakBrowser } from './person.ts'
import { passwordOf } from './realm.ts'
import { startFederatedBySaml } from './saml.ts'
import type { Keycloak } from './server.ts'

const redirectUri = 'http://127.0.0.1:4711/callback'
const device = { name: 'laptop', platform: 'linux' } as const

export async function enrollBySaml(t: TestContext, keycloak: Keycloak) {
  const { kit, realm, provider, acs_url } = await startFederatedBySaml(t, keycloak)
  const { provider_id } = provider
  const { secret: credential } = await kit.admin.generateToken({ body: { kind: 'bootstrap', max_uses: 0 } })

  /** A machine that has a request of its own, and the person who signs in for it. */
  async function begin() {
    const { dispatcher } = kit
    const { providers, begin } = await beginSamlEnrollment({ baseUrl: kit.publicUrl, credential, dispatcher })
    const [listed] = providers
    assert.deepEqual([providers.length, listed?.provider_id, listed?.issuer], [1, provider_id, realm.issuer])
    const begun = await begin({ provider_id, redirectUri })
    /** What our page would post to the machine once the person has signed in at Keycloak. */
    const signsIn = async (username: string) => {
      const login = { username, password: passwordOf(username) }
      const { at, form } = await openKeycloakBrowser()(begun.redirectUrl, login)
      assert.equal(at.href, acs_url)
      const page = await openBrowser(kit).post(at.pathname, form ?? {})
      assert.equal(page.status, 200, page.text)
      assert.ok(page.text.includes(`<form method="post" action="${redirectUri}">`), page.text)
      const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page.text)?.[1] ?? ''
      assert.equal(field('RelayState'), begun.requestId)
      return field('SAMLResponse')
    }
    const finish = async (saml_response: string) => {
      const { state } = await begun.finish({ saml_response, device })
      const shown = await kit.admin.getDevice({ params: { device_id: state.deviceId } })
      const user = await kit.admin.getUser({ params: { user_id: String(shown.user_id) } })
      return { shown, user }
    }
    return { signsIn, finish }
  }

  const mine = await begin()
  const thief = await begin()
  const response = await mine.signsIn('anna')
  await assert.rejects(thief.finish(response), { status: 401 }, 'it answers the request of another device')
  const { shown, user } = await mine.finish(response)
  assert.deepEqual([user.username, user.source, shown.name], ['anna', 'sso', 'laptop'])
  assert.deepEqual(shown.enrolled_by, { method: 'saml', token_id: null, provider_id })
  await assert.rejects(mine.finish(response), { status: 401 }, 'one response, one device')

  const late = await begin()
  const signedBefore = await late.signsIn('ben')
  await realm.changeUser('ben', { enabled: false })
  assert.equal((await late.finish(signedBefore)).user.username, 'ben', 'what was signed before counts')
  const devices = (await kit.admin.listDevices()).items
  assert.equal(devices.length, 2)
}
