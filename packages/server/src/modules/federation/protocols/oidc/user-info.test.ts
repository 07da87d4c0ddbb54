import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeKey, sign, startHostileProvider } from '../../../../../test/support/providers/hostile-oidc-provider.ts'
import { createOutbound } from '../../../../outbound/outbound.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { createOidc } from './oidc.ts'
import type { OidcProvider } from './presets.ts'

const redirectUri = 'https://holdfast.example/callback'
const outbound = createOutbound({ allowedPrivateCidrs: ['127.0.0.0/8'] })
const json = { 'content-type': 'application/json; charset=utf-8' }
const jwt = { 'content-type': 'application/jwt' }

async function start(t: TestContext, kind: OidcProvider['kind'] = 'oidc') {
  const idp = await startHostileProvider(t)
  idp.changed.userinfo_endpoint = `${idp.issuer}/userinfo`
  Object.assign(idp.changed, idp.deviceEndpoint)
  const provider: OidcProvider = {
    kind,
    issuer: idp.issuer,
    clientId: 'holdfast',
    clientSecret: 'secret',
    scopes: ['profile'],
    mappedClaims: async () => ['preferred_username', 'groups'],
  }
  const oidc = createOidc({ outbound, now: () => new Date() })
  const asked: string[] = []
  const answer = (status: number, headers: Record<string, string>, body: string) =>
    idp.answers.set('/userinfo', (request, response) => {
      asked.push(String(request.headers.authorization))
      response.writeHead(status, { location: 'http://169.254.169.254/', ...headers }).end(body)
    })
  /** Both ways in which an access token comes with an ID token. */
  const ways = {
    code: async (claims: Record<string, unknown> = {}) => {
      const { url, ...begun } = await oidc.begin(provider, { redirectUri })
      const back = await idp.answerTo(url, (nonce) => idp.idToken({ nonce, ...claims }))
      return oidc.finish(provider, back, { redirectUri, ...begun })
    },
    device: async (claims: Record<string, unknown> = {}) => {
      const { deviceCode } = await oidc.authorizeDevice(provider)
      idp.decisions.set(deviceCode, { idToken: await idp.idToken(claims) })
      const proven = await oidc.redeemDeviceCode(provider, deviceCode)
      assert.ok(typeof proven !== 'string')
      return proven
    },
  }
  return { idp, provider, oidc, asked, answer, ways }
}

test('mapped claims that an ID token lacks come from UserInfo, by either grant', async (t) => {
  const { idp, asked, answer, ways } = await start(t)
  const found = {
    sub: 'someone',
    preferred_username: 'jo',
    groups: ['/eng'],
    tid: 'x',
    sid: 's',
    iss: 'https://evil.example',
  }
  const bodies: [headers: Record<string, string>, body: string][] = [
    [json, JSON.stringify(found)],
    [jwt, await sign(idp.key, { ...found, iss: idp.issuer, aud: 'holdfast' })],
    [jwt, await sign(idp.key, { ...found, iss: undefined })],
  ]
  for (const [headers, body] of bodies)
    for (const way of Object.values(ways)) {
      answer(200, headers, body)
      const { claims, subject, issuer } = await way()
      assert.deepEqual([issuer, subject], [idp.issuer, 'someone'])
      assert.deepEqual([claims.preferred_username, claims.groups], ['jo', ['/eng']])
      assert.deepEqual(
        [claims.tid, claims.sid, claims.iss],
        [undefined, undefined, idp.issuer],
        'nothing else is taken',
      )
      // A claim of the ID token is never replaced. A claim that neither has is absent.
      assert.deepEqual((await way({ groups: [] })).claims.groups, [])
      answer(200, json, JSON.stringify({ sub: 'someone' }))
      const neither = await way({ preferred_username: 'jo' })
      assert.deepEqual([neither.claims.groups, neither.unknown], [undefined, undefined])
    }
  const before = asked.length
  assert.deepEqual(new Set(asked), new Set(['Bearer a']))
  for (const way of Object.values(ways)) await way({ preferred_username: 'jo', groups: [] })
  assert.equal(asked.length, before, 'what the ID token has is not asked for')
})

test('a UserInfo that fails, or is about somebody else, refuses the person', async (t) => {
  const { idp, asked, answer, ways } = await start(t)
  const right = { sub: 'someone', preferred_username: 'jo', groups: [] }
  const other = await makeKey()
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(right)).toString('base64url')}.`
  const rows: [reason: FederationError['reason'], status: number, headers: Record<string, string>, body: string][] = [
    ['subject', 200, json, JSON.stringify({ ...right, sub: 'somebody else' })],
    ['subject', 200, json, JSON.stringify({ ...right, sub: undefined })],
    ['subject', 200, json, JSON.stringify({ ...right, sub: ['someone'] })],
    ['subject', 200, jwt, await sign(idp.key, { ...right, sub: 'somebody else' })],
    ['userinfo', 401, json, '{}'],
    ['userinfo', 302, json, JSON.stringify(right)],
    ['userinfo', 500, json, JSON.stringify(right)],
    ['userinfo', 200, {}, JSON.stringify(right)],
    ['userinfo', 200, { 'content-type': 'text/html' }, JSON.stringify(right)],
    ['userinfo', 200, json, '<html>'],
    ['userinfo', 200, json, '[]'],
    ['userinfo', 200, json, 'null'],
    ['unreachable', 200, json, JSON.stringify({ ...right, padding: 'x'.repeat(300_000) })],
    ['userinfo', 200, jwt, JSON.stringify(right)],
    ['algorithm', 200, jwt, unsigned],
    ['keys', 200, jwt, await sign(other, right)],
    ['signature', 200, jwt, await sign({ ...other, kid: idp.key.kid }, right)],
    ['issuer', 200, jwt, await sign(idp.key, { ...right, iss: 'https://evil.example' })],
    ['audience', 200, jwt, await sign(idp.key, { ...right, aud: 'another client' })],
    ['time', 200, jwt, await sign(idp.key, { ...right, exp: 1 })],
    ['encrypted', 200, jwt, 'a.b.c.d.e'],
  ]
  for (const [reason, status, headers, body] of rows)
    for (const [name, way] of Object.entries(ways)) {
      answer(status, headers, body)
      await assert.rejects(
        way(),
        (e: unknown) => e instanceof FederationError && e.reason === reason && e.cause === undefined,
        `${name}: ${reason} ${status} ${body.slice(0, 60)}`,
      )
    }
  const before = asked.length
  await assert.rejects(ways.code({ aud: 'another client' }), { reason: 'audience' })
  assert.equal(asked.length, before, 'nothing is asked about an ID token that is refused')
})

test('an endpoint that is not usable refuses only those of whom something is missing', async (t) => {
  for (const endpoint of [
    'http://user:pw@127.0.0.1/',
    'ftp://idp.example/userinfo',
    '/userinfo',
    'http://192.0.2.1/userinfo',
  ]) {
    const { idp, ways } = await start(t)
    idp.changed.userinfo_endpoint = endpoint
    assert.equal((await ways.code({ preferred_username: 'jo', groups: [] })).subject, 'someone')
    await assert.rejects(ways.code(), (e: unknown) => e instanceof FederationError)
  }
  const { idp, ways } = await start(t)
  delete idp.changed.userinfo_endpoint
  assert.deepEqual((await ways.code()).unknown, undefined, 'a provider without one has said all that it says')
})

test('an ID token that a device brought leaves open what the provider could not be asked', async (t) => {
  const { idp, oidc, provider } = await start(t)
  const verify = async (claims: Record<string, unknown>) =>
    oidc.verify(provider, await idp.idToken({ nonce: 'n', ...claims }), {
      audiences: ['holdfast'],
      nonce: 'n',
      maxAgeSeconds: 600,
    })
  assert.deepEqual((await verify({})).unknown, ['preferred_username', 'groups'])
  assert.deepEqual((await verify({ groups: [] })).unknown, ['preferred_username'])
  assert.equal(idp.hitsOf('/userinfo'), 0)
})
