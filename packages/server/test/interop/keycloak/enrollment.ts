import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { beginOidcEnrollment } from '@holdfast/sdk'
import { send } from '../../support/clients/raw-http.ts'
import { openProviderBrowser } from '../person.ts'
import { type Federated, startFederated } from './federated.ts'
import { laptops, passwordOf } from './realm.ts'
import type { Keycloak } from './server.ts'

const redirect_uri = 'http://127.0.0.1:4711/callback'

/** An application on a laptop, with a challenge for its own key. */
export async function enrollsLaptop({ kit, realm, provider }: Federated) {
  const { secret: credential } = await kit.admin.generateToken({ body: { kind: 'bootstrap' } })
  const begun = await beginOidcEnrollment({ baseUrl: kit.publicUrl, credential, dispatcher: kit.dispatcher })
  const code_verifier = randomBytes(48).toString('base64url')

  /** Signs a user in at Keycloak, and returns the authorization code for this application. */
  async function codeFor(username: string, nonce = begun.nonce): Promise<string> {
    const asked = new URL(`${realm.issuer}/protocol/openid-connect/auth`)
    asked.search = String(
      new URLSearchParams({
        response_type: 'code',
        client_id: laptops,
        redirect_uri,
        scope: 'openid profile email',
        nonce,
        state: 'laptop',
        code_challenge_method: 'S256',
        code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
      }),
    )
    const login = { username, password: passwordOf(username) }
    const { at, text } = await openProviderBrowser()(asked.href, login)
    return at.searchParams.get('code') ?? assert.fail(`Keycloak gave no code: ${at} ${text}`)
  }
  async function idTokenFor(username: string, nonce?: string): Promise<string> {
    const form = { grant_type: 'authorization_code', client_id: laptops, redirect_uri, code_verifier }
    const got = await send(realm.issuer, {
      method: 'POST',
      path: `${new URL(realm.issuer).pathname}/protocol/openid-connect/token`,
      form: { ...form, code: await codeFor(username, nonce) },
    })
    return String(got.json.id_token)
  }
  const device = { name: 'laptop', platform: 'linux' } as const
  const { provider_id } = provider
  async function finish(grant: { id_token: string } | { code: string; client_id: string }) {
    const more = 'code' in grant ? { redirect_uri, code_verifier, iss: realm.issuer } : {}
    const { state } = await begun.finish({ provider_id, device, ...grant, ...more })
    const shown = await kit.admin.getDevice({ params: { device_id: state.deviceId } })
    const user = await kit.admin.getUser({ params: { user_id: String(shown.user_id) } })
    return { device: shown, user, state }
  }
  return {
    begun,
    /** Gets an ID token, which `enrolls` brings. */
    signsIn: async (username: string, nonce?: string) => {
      const id_token = await idTokenFor(username, nonce)
      return { id_token, enrolls: () => finish({ id_token }) }
    },
    bringsCode: async (username: string) => finish({ code: await codeFor(username), client_id: laptops }),
    bringsToken: (id_token: string) => finish({ id_token }),
  }
}

export async function byTokenAndCode(t: TestContext, keycloak: Keycloak) {
  const federated = await startFederated(t, keycloak)
  const { kit, realm, provider } = federated
  const mine = await enrollsLaptop(federated)
  assert.deepEqual(
    mine.begun.providers.map(({ kind, issuer, client_ids }) => ({ kind, issuer, client_ids })),
    [{ kind: 'keycloak', issuer: realm.issuer, client_ids: [laptops] }],
  )
  const thief = await enrollsLaptop(federated)
  const { id_token, enrolls } = await mine.signsIn('anna')
  await assert.rejects(thief.bringsToken(id_token), { status: 401 }, 'it is bound to the key of another device')
  const { device, user } = await enrolls()
  assert.deepEqual([user.username, user.source], ['anna', 'sso'])
  assert.deepEqual(device.enrolled_by, {
    method: 'oidc',
    token_id: null,
    token_name: null,
    provider_id: provider.provider_id,
    provider_name: provider.name,
  })
  await assert.rejects(mine.bringsToken(id_token), { status: 401 }, 'a challenge counts once')

  const byCode = await (await enrollsLaptop(federated)).bringsCode('ben')
  assert.equal(byCode.user.username, 'ben')
  const unbound = await (await enrollsLaptop(federated)).signsIn('ben', 'another nonce')
  await assert.rejects(unbound.enrolls(), { status: 401 })
  const refused = (await kit.admin.listAuditEvents({ query: { kind: 'device.enrollment_refused' } })).items
  assert.deepEqual(
    refused.map((event) => 'reason' in event && event.reason),
    ['nonce', 'challenge_spent', 'nonce'],
  )
}
