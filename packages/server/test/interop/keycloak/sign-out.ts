import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { untilStatus } from '../../support/actors/people.ts'
import { openBrowser } from '../../support/clients/browser.ts'
import { cookieOf, send } from '../../support/clients/raw-http.ts'
import { eventsOf } from '../../support/domain/audit-events.ts'
import { whoIs } from '../../support/providers/oidc-sign-in.ts'
import { openProviderBrowser } from '../person.ts'
import { startFederated, textOf } from './federated.ts'
import { passwordOf } from './realm.ts'
import type { Keycloak } from './server.ts'

export async function endsBothSessions(t: TestContext, keycloak: Keycloak) {
  const { kit, start } = await startFederated(t, keycloak)
  const visit = openProviderBrowser()
  /** Follows a new browser to its last page, with these fields typed into forms. */
  async function arrive(typed: Record<string, string> = {}) {
    const browser = openBrowser(kit)
    const sent = await browser.get(start)
    return { browser, ...(await visit(String(sent.headers.location), typed)) }
  }
  async function signIn(typed: Record<string, string> = {}) {
    const { browser, at, text } = await arrive(typed)
    assert.equal(at.origin, kit.publicUrl, `Keycloak asks: ${textOf(text)}`)
    const answer = await browser.get(at.pathname + at.search)
    assert.equal(answer.status, 200, answer.text)
    return cookieOf(answer)
  }
  await signIn({ username: 'anna', password: passwordOf('anna') })
  const cookie = await signIn()

  const headers = { cookie, origin: kit.publicUrl }
  const left = await send(kit.url, { method: 'POST', path: '/admin/logout', json: {}, headers })
  assert.equal(left.status, 200, left.text)
  assert.equal((await send(kit.url, { path: '/v1/admin/me', headers: { cookie } })).status, 401)
  const again = await signIn()

  const asked = await visit(String(left.json.end_session_url), {})
  assert.match(textOf(asked.text), /Do you want to log out\?/)
  const out = await visit(String(left.json.end_session_url), { confirmLogout: 'Logout' })
  assert.equal(out.at.href, `${kit.publicUrl}/admin/signed-out`, textOf(out.text))
  assert.equal((await openBrowser(kit).get(out.at.pathname)).status, 200)
  await untilStatus(() => send(kit.url, { path: '/v1/admin/me', headers: { cookie: again } }), 401)
  const next = await arrive()
  assert.equal(next.at.origin, keycloak.url, 'it asks for the password again')
  assert.match(next.text, /name="password"/)
}

export async function endsOursToo(t: TestContext, keycloak: Keycloak) {
  const { kit, realm, signIn } = await startFederated(t, keycloak)
  const [anna, ben] = [await signIn('anna'), await signIn('ben')]
  assert.deepEqual([anna.who, ben.who], ['anna', 'ben'])
  await realm.admin('POST', `/users/${await realm.userId('anna')}/logout`)
  await untilStatus(() => anna.browser.get('/v1/admin/me'), 401)
  assert.equal(await whoIs(kit, ben.browser.cookies.get('holdfast_session')), 'ben')
  const [told] = await eventsOf(kit, 'backchannel_logout.received')
  assert.deepEqual([told?.sessions_ended, typeof told?.details?.sid], [1, 'string'], JSON.stringify(told))
  assert.equal((await signIn('anna')).who, 'anna', 'and may come again')
}
