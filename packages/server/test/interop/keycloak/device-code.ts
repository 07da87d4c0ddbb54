import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { peekDeviceCredential } from '@holdfast/crypto'
import { beginDeviceCodeEnrollment, NotApprovedError } from '@holdfast/sdk'
import { openProviderBrowser } from '../person.ts'
import { startFederated, textOf } from './federated.ts'
import { passwordOf } from './realm.ts'
import type { Keycloak } from './server.ts'

export async function approvedAndRefused(t: TestContext, keycloak: Keycloak) {
  const { kit, realm, provider, set } = await startFederated(t, keycloak)
  // If a client requires PKCE, Keycloak also requires it for device codes, for which RFC 8628 does not define it.
  const [client] = await realm.admin('GET', '/clients?clientId=holdfast')
  const attributes = { ...client.attributes, 'pkce.code.challenge.method': '' }
  await realm.admin('PUT', `/clients/${client.id}`, { ...client, attributes })
  await set({ oidc: { device_code: 'on' } })
  const { secret: credential } = await kit.admin.generateToken({ body: { kind: 'bootstrap', max_uses: 0 } })

  /** Begins the enrollment of a new machine. A user who signs in at Keycloak gives `answer` there. */
  async function begin() {
    const { dispatcher } = kit
    const begun = await beginDeviceCodeEnrollment({ baseUrl: kit.publicUrl, credential, dispatcher })
    assert.deepEqual(
      begun.providers.map(({ provider_id, device_code }) => [provider_id, device_code]),
      [[provider.provider_id, true]],
    )
    const approval = await begun.begin(provider.provider_id)
    const device = { name: 'rack-7', platform: 'linux' } as const
    const finish = async () => {
      const { state } = await approval.finish({ device, signal: AbortSignal.timeout(120_000) })
      const shown = await kit.admin.getDevice({ params: { device_id: state.deviceId } })
      const user = await kit.admin.getUser({ params: { user_id: String(shown.user_id) } })
      return { state, shown, user }
    }
    const visit = (url: string | null, username: string, answer: Record<string, string>) => {
      const login = { username, password: passwordOf(username), device_user_code: approval.userCode }
      return openProviderBrowser()(String(url), { ...login, ...answer })
    }
    return { approval, finish, visit }
  }

  const approved = await begin()
  assert.match(approved.approval.userCode, /^[A-Z]{4}-[A-Z]{4}$/)
  const [{ state, shown, user }, page] = await Promise.all([
    approved.finish(),
    approved.visit(approved.approval.verificationUri, 'anna', { accept: 'Yes' }),
  ])
  assert.match(textOf(page.text), /Device Login Successful/)
  assert.deepEqual([user.username, user.source, shown.name], ['anna', 'sso', 'rack-7'])
  assert.deepEqual(shown.enrolled_by, {
    method: 'device_code',
    token_id: null,
    token_name: null,
    provider_id: provider.provider_id,
    provider_name: provider.name,
  })
  assert.equal(peekDeviceCredential(state.credential).claims.enr, 'device_code')

  const refused = await begin()
  const outcome = refused.finish().catch((e: unknown) => e)
  await refused.visit(refused.approval.verificationUriComplete, 'ben', { cancel: 'No' })
  const e = await outcome
  assert.ok(e instanceof NotApprovedError, String(e))
  assert.equal(e.code, 'access_denied')
  assert.equal((await kit.admin.listDevices()).items.length, 1)
}
