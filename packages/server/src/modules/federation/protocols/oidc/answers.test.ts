import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startHostileProvider } from '../../../../../test/support/providers/hostile-oidc-provider.ts'
import { createOutbound } from '../../../../outbound/outbound.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { createOidc } from './oidc.ts'
import type { OidcProvider } from './presets.ts'

const redirectUri = 'https://holdfast.example/callback'
const outbound = createOutbound({ allowedPrivateCidrs: ['127.0.0.0/8'] })
const withReason = (reason: FederationError['reason']) => (e: unknown) =>
  e instanceof FederationError && e.reason === reason && e.cause === undefined

async function start(t: TestContext) {
  const idp = await startHostileProvider(t)
  const provider: OidcProvider = {
    kind: 'oidc',
    issuer: idp.issuer,
    clientId: 'holdfast',
    clientSecret: 'secret',
    scopes: ['email'],
    mappedClaims: async () => [],
  }
  const oidc = createOidc({ outbound, now: () => new Date() })
  const begin = async () => {
    const { url, ...begun } = await oidc.begin(provider, { redirectUri })
    return { answer: await idp.answerTo(url), known: { redirectUri, ...begun } }
  }
  return { idp, provider, oidc, begin }
}

test('the browser is sent with PKCE, nonce and state that nobody can guess', async (t) => {
  const { provider, oidc } = await start(t)
  const first = await oidc.begin(provider, { redirectUri, maxAgeSeconds: 0 })
  const second = await oidc.begin(provider, { redirectUri })
  const asked = Object.fromEntries(new URL(first.url).searchParams)
  const { code_challenge, ...others } = asked
  assert.deepEqual(others, {
    client_id: 'holdfast',
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid email',
    state: first.state,
    nonce: first.nonce,
    code_challenge_method: 'S256',
    max_age: '0',
  })
  assert.equal(code_challenge?.length, 43)
  for (const name of ['state', 'nonce', 'verifier'] as const) {
    assert.equal(first[name].length, 43)
    assert.notEqual(first[name], second[name])
  }
  assert.ok(!first.url.includes(first.verifier) && !first.url.includes('secret'))
})

test('an answer that belongs to no sign-in of ours sends no code', async (t) => {
  const { idp, provider, oidc, begin } = await start(t)
  const changes: [string, FederationError['reason'], (answer: URLSearchParams) => void][] = [
    ['no state', 'state', (a) => a.delete('state')],
    ['an empty state', 'state', (a) => a.set('state', '')],
    ['two states', 'state', (a) => a.append('state', 'x')],
    ['another state', 'state', (a) => a.set('state', `${a.get('state')}x`)],
    ['no iss, though the provider says it sends one', 'issuer', (a) => a.delete('iss')],
    ['another iss', 'issuer', (a) => a.set('iss', 'https://evil.example')],
    ['two iss', 'issuer', (a) => a.append('iss', provider.issuer)],
    ['no code', 'code', (a) => a.delete('code')],
    ['two codes', 'code', (a) => a.append('code', 'x')],
    ['an error', 'denied', (a) => a.set('error', 'access_denied')],
    ['an error that is no word', 'denied', (a) => a.set('error', '<script>')],
  ]
  for (const [name, reason, change] of changes) {
    const { answer, known } = await begin()
    change(answer)
    await assert.rejects(oidc.finish(provider, answer, known), withReason(reason), name)
  }
  for (const name of ['state', 'nonce', 'verifier'] as const) {
    const { answer, known } = await begin()
    if (name === 'state') answer.set('state', '')
    await assert.rejects(oidc.finish(provider, answer, { ...known, [name]: '' }), withReason('state'), name)
  }
  assert.equal(idp.hitsOf('/token'), 0)
})

test('what the answer brings besides is never believed', async (t) => {
  const { idp, provider, oidc, begin } = await start(t)
  const { answer, known } = await begin()
  answer.set('id_token', await idp.idToken({ nonce: known.nonce, sub: 'somebody else' }))
  await assert.rejects(oidc.finish(provider, answer, known), withReason('token'))
  const jarm = await begin()
  jarm.answer.set('response', 'x')
  await assert.rejects(oidc.finish(provider, jarm.answer, jarm.known), withReason('token'))
})

test('state, nonce and verifier of another sign-in do not fit', async (t) => {
  const { provider, oidc, begin } = await start(t)
  const [mine, other] = [await begin(), await begin()]
  const finish = (known: typeof mine.known, { answer } = mine) => oidc.finish(provider, answer, known)
  await assert.rejects(finish(other.known), withReason('state'))
  await assert.rejects(finish({ ...mine.known, verifier: other.known.verifier }), withReason('code'), 'PKCE')
  await assert.rejects(finish(mine.known), withReason('code'), 'the code has been used')
  const stolen = new URLSearchParams(other.answer)
  stolen.set('state', mine.known.state)
  await assert.rejects(oidc.finish(provider, stolen, mine.known), withReason('code'), 'a code that was injected')
  const third = await begin()
  await assert.rejects(finish({ ...third.known, nonce: mine.known.nonce }, third), withReason('nonce'))
})

test('a redirect URI reaches the provider as it was given, and no other fits', async (t) => {
  const { idp, provider, oidc } = await start(t)
  for (const [redirectUri, other] of [
    ['http://127.0.0.1:51234', 'http://127.0.0.1:51234/'],
    ['com.example.app:/callback', 'com.example.app:/'],
    ['https://app.example/callback?of=acme&x=%20', 'https://app.example/callback'],
  ] as const) {
    const { url, ...begun } = await oidc.begin(provider, { redirectUri })
    const finish = async (as: string) => oidc.finish(provider, await idp.answerTo(url), { redirectUri: as, ...begun })
    assert.equal((await finish(redirectUri)).subject, 'someone')
    await assert.rejects(finish(other), withReason('code'), redirectUri)
  }
})

test('the answer of one provider is nothing to another', async (t) => {
  const [honest, evil] = [await start(t), await start(t)]
  const { answer, known } = await honest.begin()
  await assert.rejects(evil.oidc.finish(evil.provider, answer, known), withReason('issuer'))
  evil.idp.changed.authorization_response_iss_parameter_supported = false
  answer.delete('iss')
  const late = createOidc({ outbound, now: () => new Date() })
  await assert.rejects(late.finish(evil.provider, answer, known), withReason('code'))
  const { url, ...begun } = await late.begin(evil.provider, { redirectUri })
  const mixed = await evil.idp.answerTo(url, (nonce) => honest.idp.idToken({ nonce }))
  await assert.rejects(late.finish(evil.provider, mixed, { redirectUri, ...begun }), withReason('keys'))
})

test('nothing is asked of a provider but its token endpoint, whatever the token lacks', async (t) => {
  const { idp, provider, oidc, begin } = await start(t)
  idp.changed.userinfo_endpoint = `${idp.issuer}/userinfo`
  for (const [body, status, reason] of [
    [{ access_token: 'a', token_type: 'Bearer' }, 200, 'token'],
    [{ access_token: 'a', token_type: 'Bearer', id_token: '' }, 200, 'token'],
    [{ access_token: 'a', token_type: 'Bearer', id_token: { sub: 'x' } }, 200, 'token'],
    [[], 200, 'token'],
    ['<html>', 200, 'token'],
    ['', 204, 'token'],
    ['', 302, 'token'],
    [{ error: 'invalid_client' }, 401, 'client'],
    [{ error: 'unauthorized_client' }, 400, 'client'],
    [{ error: 'invalid_grant', error_description: 'secret' }, 400, 'code'],
    [{ error: 5 }, 500, 'token'],
  ] as const) {
    idp.answers.set('/token', (_, response) => {
      const location = 'http://169.254.169.254/'
      response.writeHead(status, { 'content-type': 'application/json', location })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    })
    const { answer, known } = await begin()
    await assert.rejects(oidc.finish(provider, answer, known), withReason(reason), JSON.stringify(body))
  }
  assert.equal(idp.hitsOf('/userinfo'), 0)
})

test('a token endpoint answers a right ID token in a wrong document: it is refused all the same', async (t) => {
  const { idp, provider, oidc, begin } = await start(t)
  const { answer, known } = await begin()
  const id_token = await idp.idToken({ nonce: known.nonce })
  for (const body of [{ id_token }, { id_token, access_token: 'a', token_type: 'mac' }]) {
    idp.answers.set('/token', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    await assert.rejects(oidc.finish(provider, answer, known), withReason('token'))
  }
})
