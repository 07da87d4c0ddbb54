import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKey, sign } from '../../../../../test/support/providers/hostile-oidc-provider.ts'
import { createOutbound } from '../../../../outbound/outbound.ts'
import { OutboundError } from '../../../../outbound/outbound-error.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { createOidc } from './oidc.ts'
import type { OidcProvider } from './presets.ts'

type Kind = OidcProvider['kind']
const withReason = (reason: FederationError['reason']) => (e: unknown) =>
  e instanceof FederationError && e.reason === reason
const key = await makeKey()

/** A set of documents by URL, for tests that need https and addresses other than loopback. */
function webOf(documents: Record<string, unknown>) {
  const asked: string[] = []
  const { refusalOf } = createOutbound({ allowedPrivateCidrs: [] })
  const request = async (url: string) => {
    asked.push(url)
    const refusal = refusalOf(url)
    if (refusal) throw new OutboundError('refused', refusal)
    const body = Buffer.from(JSON.stringify(documents[url] ?? null))
    return { status: documents[url] ? 200 : 404, headers: { 'content-type': 'application/json' }, body }
  }
  return { asked, oidc: createOidc({ outbound: { request, refusalOf }, now: () => new Date() }) }
}
const documentsOf = (issuer: string, host: string, more: Record<string, unknown> = {}) => ({
  [`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`]: {
    issuer,
    authorization_endpoint: `${host}/authorize`,
    token_endpoint: `${host}/token`,
    jwks_uri: `${host}/keys`,
    id_token_signing_alg_values_supported: ['RS256'],
    ...more,
  },
  [`${host}/keys`]: { keys: [key.jwk] },
})

const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const products: [Kind, string, string][] = [
  ['oidc', 'https://accounts.google.com', 'https://www.googleapis.com'],
  ['oidc', 'https://acme.eu.auth0.com/', 'https://acme.eu.auth0.com'],
  ['keycloak', 'https://sso.acme.example/realms/acme', 'https://sso.acme.example'],
  ['entra_id', `https://login.microsoftonline.com/${tenant}/v2.0`, 'https://login.microsoftonline.com'],
  ['entra_id', `https://login.microsoftonline.us/${tenant}/v2.0`, 'https://login.microsoftonline.us'],
  ['okta', 'https://acme.okta.com/oauth2/default', 'https://acme.okta.com'],
]

test('the providers that are known are read as they describe themselves', async () => {
  for (const [kind, issuer, host] of products) {
    const { oidc } = webOf(documentsOf(issuer, host))
    assert.equal((await oidc.inspect({ kind, issuer })).keys, 1, issuer)
    const provider = {
      kind,
      issuer,
      clientId: 'holdfast',
      clientSecret: undefined,
      scopes: [],
      mappedClaims: async () => [],
    }
    const { url } = await oidc.begin(provider, { redirectUri: 'https://holdfast.example/callback' })
    assert.ok(url.startsWith(`${host}/authorize?`), url)
  }
})

test('a product keeps its endpoints on its own host', async () => {
  const elsewhere = 'https://evil.example'
  for (const [kind, issuer, host] of products)
    for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'device_authorization_endpoint']) {
      const documents = {
        ...documentsOf(elsewhere, elsewhere),
        ...documentsOf(issuer, host, { [name]: `${elsewhere}/keys` }),
      }
      const inspecting = webOf(documents).oidc.inspect({ kind, issuer })
      if (kind === 'oidc') await inspecting
      else await assert.rejects(inspecting, withReason('discovery'), `${kind} ${name}`)
      const provider = {
        kind,
        issuer,
        clientId: 'holdfast',
        clientSecret: undefined,
        scopes: [],
        mappedClaims: async () => [],
      }
      const beginning = webOf(documents).oidc.begin(provider, { redirectUri: 'https://holdfast.example/' })
      if (kind === 'oidc') await beginning
      else await assert.rejects(beginning, withReason('discovery'), `${kind} ${name}`)
    }
})

test('metadata of another issuer is refused, whatever the library lets pass', async () => {
  for (const [kind, issuer, host] of products)
    for (const other of [
      'https://evil.example',
      `${issuer}/x`,
      issuer.replace('https:', 'http:'),
      issuer.endsWith('/') ? issuer.slice(0, -1) : `${issuer}/`,
      'https://login.microsoftonline.com/{tenantid}/v2.0',
    ]) {
      const { oidc } = webOf(documentsOf(issuer, host, { issuer: other }))
      await assert.rejects(oidc.inspect({ kind, issuer }), withReason('issuer'), `${issuer} ${other}`)
    }
})

test('endpoints are https, on a host that may be called', async () => {
  const issuer = 'https://idp.example'
  const wrong = [
    'http://idp.example/keys',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:application/json,{}',
    'https://user:password@idp.example/keys',
    'https://idp.example/keys#x',
    '/keys',
    '',
    5,
    null,
    `https://idp.example/${'x'.repeat(2048)}`,
  ]
  const names = ['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'device_authorization_endpoint']
  for (const name of names)
    for (const value of wrong) {
      if (value === null && name === 'device_authorization_endpoint') continue
      const { oidc, asked } = webOf(documentsOf(issuer, issuer, { [name]: value }))
      await assert.rejects(oidc.inspect({ kind: 'oidc', issuer }), withReason('discovery'), `${name} ${value}`)
      assert.equal(asked.length, 1)
    }
  for (const inner of [
    'https://169.254.169.254/keys',
    'https://[::1]:8443/keys',
    'https://10.0.0.1/',
    'https://idp.example:22/',
  ])
    for (const name of names.slice(1)) {
      const { oidc } = webOf(documentsOf(issuer, issuer, { [name]: inner }))
      const reason = name === 'jwks_uri' ? 'unreachable' : 'discovery'
      await assert.rejects(oidc.inspect({ kind: 'oidc', issuer }), withReason(reason), `${name} ${inner}`)
    }
  for (const inner of ['http://169.254.169.254', 'https://127.0.0.1:8443', 'http://idp.example'])
    await assert.rejects(webOf({}).oidc.inspect({ kind: 'oidc', issuer: inner }), withReason('unreachable'), inner)
})

test('an issuer that its kind does not have asks nobody anything', async () => {
  const { oidc, asked } = webOf({})
  const issuer = 'https://login.microsoftonline.com/common/v2.0'
  const provider = {
    kind: 'entra_id' as const,
    issuer,
    clientId: 'a',
    clientSecret: undefined,
    scopes: [],
    mappedClaims: async () => [],
  }
  const known = { redirectUri: 'https://holdfast.example/', state: 's', nonce: 'n', verifier: 'v' }
  for (const attempt of [
    oidc.inspect(provider),
    oidc.begin(provider, known),
    oidc.finish(provider, new URLSearchParams(), known),
    oidc.verify(provider, 'x', { audiences: ['a'], nonce: 'n', maxAgeSeconds: 600 }),
  ])
    await assert.rejects(attempt, withReason('issuer'))
  assert.deepEqual(asked, [])
})

test('Entra ID: a token of another tenant, or without its object, is refused', async () => {
  const issuer = `https://login.microsoftonline.com/${tenant}/v2.0`
  const { oidc } = webOf(documentsOf(issuer, 'https://login.microsoftonline.com'))
  const now = Math.floor(Date.now() / 1000)
  const right = {
    iss: issuer,
    aud: 'app',
    sub: 'pairwise',
    oid: 'object',
    tid: tenant,
    nonce: 'n',
    iat: now,
    exp: now + 60,
  }
  const verify = async (claims: Record<string, unknown>) =>
    oidc.verify({ kind: 'entra_id', issuer, mappedClaims: async () => [] }, await sign(key, claims), {
      audiences: ['app'],
      nonce: 'n',
      maxAgeSeconds: 600,
    })
  assert.equal((await verify(right)).subject, 'object')
  for (const wrong of [{ tid: tenant.replace('7', '8') }, { tid: undefined }, { oid: undefined }, { oid: '' }])
    await assert.rejects(verify({ ...right, ...wrong }), withReason('subject'))
})

test('a client says its secret only in a way that the provider takes', async () => {
  const issuer = 'https://idp.example'
  const provider = { kind: 'oidc' as const, issuer, clientId: 'a', scopes: [], mappedClaims: async () => [] }
  for (const [methods, clientSecret, isTaken] of [
    [undefined, 's', true],
    [['client_secret_post'], 's', true],
    [['private_key_jwt', 'tls_client_auth'], 's', false],
    [[], 's', false],
    [['private_key_jwt'], undefined, true],
  ] as const) {
    const { oidc } = webOf(documentsOf(issuer, issuer, { token_endpoint_auth_methods_supported: methods }))
    const beginning = oidc.begin({ ...provider, clientSecret }, { redirectUri: 'https://holdfast.example/' })
    if (isTaken) assert.ok((await beginning).url)
    else await assert.rejects(beginning, withReason('client'))
  }
})
