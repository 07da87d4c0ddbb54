import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startRealProvider } from '../../../../../test/support/providers/real-oidc-provider.ts'
import { createOutbound } from '../../../../outbound/outbound.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { createOidc } from './oidc.ts'
import type { OidcProvider } from './presets.ts'

const redirectUri = 'https://holdfast.example/admin/login/oidc/callback/1'
const outbound = createOutbound({ allowedPrivateCidrs: ['127.0.0.0/8'] })
const secret = 'p%ss w+rd:/&='
const withReason = (reason: FederationError['reason']) => (e: unknown) =>
  e instanceof FederationError && e.reason === reason && !e.message.includes(secret)

async function start(t: TestContext, method: 'client_secret_basic' | 'client_secret_post' = 'client_secret_basic') {
  const real = await startRealProvider(t, {
    clients: [
      {
        client_id: 'holdfast',
        client_secret: secret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: method,
      },
      { client_id: 'native', redirect_uris: [redirectUri], application_type: 'native' },
    ],
    configuration: { clientAuthMethods: [method, 'none'] },
    people: { anna: { email: 'anna@example.com', groups: ['staff', 'admins'] }, ben: {} },
  })
  const provider: OidcProvider = {
    kind: 'oidc',
    issuer: real.issuer,
    clientId: 'holdfast',
    clientSecret: secret,
    scopes: ['openid', 'email', 'groups'],
    mappedClaims: async () => [],
  }
  return { ...real, provider, oidc: createOidc({ outbound, now: () => new Date() }) }
}

test('a person signs in at oidc-provider, and the ID token says who it was', async (t) => {
  const { oidc, provider, signIn } = await start(t)
  const { url, ...begun } = await oidc.begin(provider, { redirectUri, maxAgeSeconds: 300 })
  const known = { redirectUri, maxAgeSeconds: 300, ...begun }
  const { searchParams } = await signIn(url, 'anna')
  assert.equal(searchParams.get('iss'), provider.issuer)
  const proven = await oidc.finish(provider, searchParams, known)
  assert.deepEqual([proven.issuer, proven.subject], [provider.issuer, 'anna'])
  assert.deepEqual(proven.claims.groups, ['staff', 'admins'])
  assert.deepEqual([proven.claims.aud, proven.claims.nonce], ['holdfast', begun.nonce])

  await assert.rejects(oidc.finish(provider, searchParams, known), withReason('code'), 'the code a second time')
})

test('with the defaults of oidc-provider the ID token is thin, and UserInfo says the rest', async (t) => {
  const people = { jo: { email: 'jo@example.com', name: 'Jo Doe', groups: ['/eng'] } }
  const clients = [{ client_id: 'holdfast', client_secret: secret, redirect_uris: [redirectUri] }]
  const real = await startRealProvider(t, { clients, people, configuration: { conformIdTokenClaims: true } })
  const provider: OidcProvider = {
    kind: 'oidc',
    issuer: real.issuer,
    clientId: 'holdfast',
    clientSecret: secret,
    scopes: ['openid', 'profile', 'email', 'groups'],
    mappedClaims: async () => ['name', 'email', 'groups', 'nickname'],
  }
  const oidc = createOidc({ outbound, now: () => new Date() })
  const { url, ...begun } = await oidc.begin(provider, { redirectUri })
  const { searchParams } = await real.signIn(url, 'jo')
  const { claims } = await oidc.finish(provider, searchParams, { redirectUri, ...begun })
  const { name, email, groups, nickname } = claims
  assert.deepEqual({ name, email, groups, nickname }, { ...people.jo, nickname: undefined })
})

test('a public client and one that sends its secret in the form sign in too', async (t) => {
  const { oidc, provider, signIn } = await start(t, 'client_secret_post')
  for (const client of [provider, { ...provider, clientId: 'native', clientSecret: undefined }]) {
    const { url, ...begun } = await oidc.begin(client, { redirectUri })
    const { searchParams } = await signIn(url, 'ben')
    assert.equal((await oidc.finish(client, searchParams, { redirectUri, ...begun })).subject, 'ben')
  }
})

test('what oidc-provider refuses has its reason', async (t) => {
  const { oidc, provider, signIn } = await start(t)
  const attempt = async (login: string, change: { verifier?: string } = {}, of: Partial<OidcProvider> = {}) => {
    const { url, ...begun } = await oidc.begin(provider, { redirectUri })
    const { searchParams } = await signIn(url, login)
    return oidc.finish({ ...provider, ...of }, searchParams, { redirectUri, ...begun, ...change })
  }
  await assert.rejects(attempt('nobody'), withReason('denied'))
  await assert.rejects(attempt('anna', { verifier: 'x'.repeat(43) }), withReason('code'), 'PKCE')
  await assert.rejects(attempt('anna', {}, { clientSecret: 'another' }), withReason('client'))
  await assert.rejects(attempt('anna', {}, { clientId: 'native', clientSecret: undefined }), withReason('code'))
  assert.equal((await attempt('anna')).subject, 'anna')
})

test('an inspection says what a provider shows of itself', async (t) => {
  const { oidc, provider } = await start(t)
  const { issuer } = provider
  assert.deepEqual(await oidc.inspect(provider), {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    device_authorization_endpoint: `${issuer}/device/auth`,
    jwks_uri: `${issuer}/jwks`,
    keys: 1,
    algorithms: ['RS256'],
    groups_claim_hint: 'groups',
  })
  await assert.rejects(oidc.inspect({ kind: 'oidc', issuer: `${issuer}/` }), withReason('issuer'))
  await assert.rejects(oidc.inspect({ kind: 'keycloak', issuer }), withReason('issuer'))
})
