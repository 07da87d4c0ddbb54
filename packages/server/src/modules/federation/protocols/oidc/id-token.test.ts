import assert from 'node:assert/strict'
import { createHmac, createPublicKey, generateKeyPairSync, randomUUID, sign as signBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { CompactEncrypt, importJWK } from 'jose'
import {
  type Claims,
  makeKey,
  sign,
  startHostileProvider,
} from '../../../../../test/support/providers/hostile-oidc-provider.ts'
import { createOutbound } from '../../../../outbound/outbound.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { createOidc } from './oidc.ts'
import type { OidcProvider } from './presets.ts'

type Idp = Awaited<ReturnType<typeof startHostileProvider>>
type Started = Awaited<ReturnType<typeof start>>
type Reason = FederationError['reason']
const redirectUri = 'https://holdfast.example/callback'
const clientSecret = 'a secret that both sides know, long enough for HMAC'
const outbound = createOutbound({ allowedPrivateCidrs: ['127.0.0.0/8'] })
const now = () => Math.floor(Date.now() / 1000)
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const withReason = (reason: Reason) => (e: unknown) => e instanceof FederationError && e.reason === reason

async function start(t: TestContext) {
  const idp = await startHostileProvider(t)
  const provider: OidcProvider = {
    kind: 'oidc',
    issuer: idp.issuer,
    clientId: 'holdfast',
    clientSecret,
    scopes: [],
    mappedClaims: async () => [],
  }
  const oidc = createOidc({ outbound, now: () => new Date() })
  const expected = { audiences: ['holdfast', 'native'], nonce: 'n-1', maxAgeSeconds: 600 }
  const finish = async (make: (nonce: string) => Promise<string> | string, maxAgeSeconds?: number) => {
    const { url, ...begun } = await oidc.begin(provider, { redirectUri, maxAgeSeconds })
    return oidc.finish(provider, await idp.answerTo(url, make), { redirectUri, maxAgeSeconds, ...begun })
  }
  const verify = (token: string) => oidc.verify(provider, token, expected)
  Object.assign(idp.changed, idp.deviceEndpoint)
  /** Redeems a device authorization grant, which has no nonce. */
  const redeem = async (make: (nonce: undefined) => Promise<string> | string) => {
    await oidc.authorizeDevice(provider)
    const code = idp.deviceCodes.at(-1) ?? ''
    idp.decisions.set(code, { idToken: await make(undefined) })
    const proven = await oidc.redeemDeviceCode(provider, code)
    return typeof proven === 'string' ? assert.fail(proven) : proven
  }
  return { idp, provider, oidc, expected, finish, verify, redeem }
}

/** One key pair for all RSA algorithms, since generating it takes long. No document publishes it. */
const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
const strangersKey = async (alg = 'RS256', kid: string = randomUUID()): ReturnType<typeof makeKey> => ({
  kid,
  alg,
  privateKey: (await importJWK(pair.privateKey.export({ format: 'jwk' }), alg)) as Idp['key']['privateKey'],
  jwk: { ...(pair.publicKey.export({ format: 'jwk' }) as Idp['key']['jwk']), kid, alg, use: 'sig' },
})

const hmac = (idp: Idp, claims: Claims, key: string | Buffer) => {
  const text = `${base64url({ alg: 'HS256', kid: idp.key.kid })}.${base64url(claims)}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}
const pem = (idp: Idp) =>
  createPublicKey({ key: { ...idp.key.jwk }, format: 'jwk' }).export({ type: 'spki', format: 'pem' })

/** Tokens of an attacker or a faulty provider, instead of a valid token with this nonce. */
const attacks: Record<string, [Reason, (idp: Idp, nonce: string | undefined) => Promise<string> | string]> = {
  'alg none': ['algorithm', (idp, nonce) => `${base64url({ alg: 'none' })}.${base64url(idp.claims({ nonce }))}.`],
  'alg None and a signature': [
    'algorithm',
    (idp, nonce) => `${base64url({ alg: 'None' })}.${base64url(idp.claims({ nonce }))}.AAAA`,
  ],
  'HS256 with the client secret': ['algorithm', (idp, nonce) => hmac(idp, idp.claims({ nonce }), clientSecret)],
  'HS256 with the public key': ['algorithm', (idp, nonce) => hmac(idp, idp.claims({ nonce }), pem(idp))],
  'no algorithm': ['token', (idp, nonce) => `${base64url({})}.${base64url(idp.claims({ nonce }))}.AAAA`],
  'a key that nobody published': ['keys', async (idp, nonce) => sign(await strangersKey(), idp.claims({ nonce }))],
  'another key under a known name': [
    'signature',
    async (idp, nonce) => sign(await strangersKey('RS256', idp.key.kid), idp.claims({ nonce })),
  ],
  'another key without a name': [
    'signature',
    async (idp, nonce) => sign(await strangersKey(), idp.claims({ nonce }), { kid: undefined }),
  ],
  'a key in the header': [
    'signature',
    async (idp, nonce) => {
      const key = await strangersKey('RS256', idp.key.kid)
      const elsewhere = { jwk: key.jwk, jku: `${idp.issuer}/evil`, x5u: `${idp.issuer}/evil` }
      return sign(key, idp.claims({ nonce }), elsewhere)
    },
  ],
  'claims changed after signing': [
    'signature',
    async (idp, nonce) => {
      const [header, , signature] = (await idp.idToken({ nonce })).split('.')
      return `${header}.${base64url(idp.claims({ nonce, sub: 'somebody else' }))}.${signature}`
    },
  ],
  'a critical header': ['token', (idp, nonce) => idp.idToken({ nonce }, { crit: ['exp'], exp: now() + 60 })],
  'a token of another type': ['token', (idp, nonce) => idp.idToken({ nonce }, { typ: 'logout+jwt' })],
  encrypted: [
    'token',
    async (idp, nonce) =>
      new CompactEncrypt(Buffer.from(await idp.idToken({ nonce })))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .encrypt(Buffer.alloc(32, 1)),
  ],
  'no token': ['token', () => 'x'],
  'claims that are a list': ['token', (idp) => sign(idp.key, [])],
  'too long': ['token', (idp, nonce) => idp.idToken({ nonce, groups: ['x'.repeat(256 * 1024)] })],
  'another issuer': ['issuer', (idp, nonce) => idp.idToken({ nonce, iss: 'https://evil.example' })],
  'an issuer with a slash more': ['issuer', (idp, nonce) => idp.idToken({ nonce, iss: `${idp.issuer}/` })],
  'no issuer': ['issuer', (idp, nonce) => idp.idToken({ nonce, iss: undefined })],
  'another audience': ['audience', (idp, nonce) => idp.idToken({ nonce, aud: 'another' })],
  'no audience': ['audience', (idp, nonce) => idp.idToken({ nonce, aud: undefined })],
  'an empty list of audiences': ['audience', (idp, nonce) => idp.idToken({ nonce, aud: [] })],
  'two audiences without azp': ['audience', (idp, nonce) => idp.idToken({ nonce, aud: ['holdfast', 'another'] })],
  'two audiences with azp of another': [
    'audience',
    (idp, nonce) => idp.idToken({ nonce, aud: ['holdfast', 'another'], azp: 'another' }),
  ],
  'one audience with azp of another': ['audience', (idp, nonce) => idp.idToken({ nonce, azp: 'another' })],
  'azp that is no text': ['audience', (idp, nonce) => idp.idToken({ nonce, azp: ['holdfast'] })],
  ended: ['time', (idp, nonce) => idp.idToken({ nonce, exp: now() - 70 })],
  'no end': ['time', (idp, nonce) => idp.idToken({ nonce, exp: undefined })],
  'an end that never comes': [
    'time',
    (idp, nonce) => sign(idp.key, JSON.stringify(idp.claims({ nonce, exp: 0 })).replace('"exp":0', '"exp":1e999')),
  ],
  'an end that is a text': ['time', (idp, nonce) => idp.idToken({ nonce, exp: String(now() + 60) })],
  'an end in years': ['time', (idp, nonce) => idp.idToken({ nonce, exp: now() + 31 * 86_400 })],
  'an end before its issue': ['time', (idp, nonce) => idp.idToken({ nonce, iat: now() + 20, exp: now() + 10 })],
  'a signature with padding': ['token', async (idp, nonce) => `${await idp.idToken({ nonce })}==`],
  'a signature with a line break': [
    'token',
    async (idp, nonce) => (await idp.idToken({ nonce })).replace(/(?=.{9}$)/, '\n'),
  ],
  'not yet valid': ['time', (idp, nonce) => idp.idToken({ nonce, nbf: now() + 90 })],
  'issued too long ago': ['time', (idp, nonce) => idp.idToken({ nonce, iat: now() - 670, exp: now() + 60 })],
  'issued in the future': ['time', (idp, nonce) => idp.idToken({ nonce, iat: now() + 90 })],
  'no time of issue': ['time', (idp, nonce) => idp.idToken({ nonce, iat: undefined })],
  'another nonce': ['nonce', (idp) => idp.idToken({ nonce: 'another' })],
  'no nonce': ['nonce', (idp) => idp.idToken()],
  'a list of nonces': ['nonce', (idp, nonce) => idp.idToken({ nonce: [nonce] })],
  'no subject': ['subject', (idp, nonce) => idp.idToken({ nonce, sub: undefined })],
  'an empty subject': ['subject', (idp, nonce) => idp.idToken({ nonce, sub: '' })],
  'a subject that is no text': ['subject', (idp, nonce) => idp.idToken({ nonce, sub: { a: 1 } })],
  'a subject that can only be kept altered': ['subject', (idp, nonce) => idp.idToken({ nonce, sub: 'a\0' })],
  'a subject that is too long': ['subject', (idp, nonce) => idp.idToken({ nonce, sub: 'a'.repeat(256) })],
}

test('an ID token is refused for its reason, for a code and brought by a device alike', async (t) => {
  const { idp, finish, verify, redeem } = await start(t)
  // All ways share one verification, so each attack is tried by itself, in one of the ways.
  for (const [nth, [name, [reason, make]]] of Object.entries(attacks).entries())
    await t.test(`${name}: ${reason}`, async () => {
      await assert.rejects(async () => verify(await make(idp, 'n-1')), withReason(reason))
      const come = nth % 2 === 0 || name === 'no nonce' ? finish : redeem
      await assert.rejects(
        come((nonce?: string) => make(idp, nonce)),
        withReason(reason),
      )
    })
  assert.equal((await verify(await idp.idToken({ nonce: 'n-1' }))).subject, 'someone')
  assert.equal((await redeem(() => idp.idToken())).subject, 'someone')
  await assert.rejects(
    redeem(() => idp.idToken({ nonce: 'of another sign-in' })),
    withReason('nonce'),
  )
})

test('algorithms are ours and the provider’s, never the header’s', async (t) => {
  const { idp, finish, verify, oidc, provider } = await start(t)
  const names = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
  const others = ['RS384', 'RS512', 'PS384', 'PS512', 'ES384', 'ES512']
  const keys = await Promise.all(
    [...names, ...others].map((alg) => (/^[RP]S/.test(alg) ? strangersKey(alg) : makeKey(alg))),
  )
  idp.published.push(...keys.map(({ jwk }) => jwk))
  idp.changed.id_token_signing_alg_values_supported = [...names, ...others, 'HS256', 'none']
  for (const key of keys) {
    const isTaken = names.includes(key.alg)
    const tried = [
      verify(await sign(key, idp.claims({ nonce: 'n-1' }))),
      finish((nonce) => sign(key, idp.claims({ nonce }))),
    ]
    for (const attempt of tried)
      if (isTaken) assert.equal((await attempt).subject, 'someone', key.alg)
      else await assert.rejects(attempt, withReason('algorithm'), key.alg)
  }
  for (const [listed, reason] of [
    [['ES256'], undefined],
    [undefined, undefined],
    [['RS384', 'HS256', 'none'], 'algorithm'],
    ['RS384', undefined],
  ] as const) {
    idp.changed.id_token_signing_alg_values_supported = listed
    if (reason) await assert.rejects(oidc.inspect(provider), withReason(reason))
    else assert.deepEqual((await oidc.inspect(provider)).algorithms, Array.isArray(listed) ? listed : ['RS256'])
  }
  await assert.rejects(verify(await sign(keys[2]!, idp.claims({ nonce: 'n-1' }))), withReason('algorithm'), 'ES256')
})

test('an ID token with what was asked for', async (t) => {
  const started = await start(t)
  await t.test('a nonce that nobody asked for fits no token', () => noNonce(started))
  await t.test('what an honest provider sends is taken', () => honest(started))
  await t.test('where a maximum age was asked for, the token must say when the person signed in', () => ofAge(started))
  await t.test('time is the caller’s, whatever the clock of the machine says', () => inTime(started))
})

async function noNonce(started: Started): Promise<void> {
  const { idp, oidc, provider, expected } = started
  for (const nonce of ['', undefined])
    await assert.rejects(
      oidc.verify(provider, await idp.idToken({ nonce }), { ...expected, nonce: '' }),
      withReason('nonce'),
    )
  const token = await idp.idToken({ nonce: 'n-1' })
  await assert.rejects(oidc.verify(provider, token, { ...expected, audiences: [] }), withReason('audience'))
}

async function honest(started: Started): Promise<void> {
  const { idp, finish, verify } = started
  const right: Claims[] = [
    { aud: ['holdfast'] },
    { aud: ['holdfast', 'another'], azp: 'holdfast' },
    { azp: 'holdfast', exp: now() - 30, iat: now() - 300 },
    { iat: now() + 30, nbf: now() + 30 },
  ]
  for (const claims of right) {
    assert.equal((await verify(await idp.idToken({ nonce: 'n-1', ...claims }))).subject, 'someone')
    assert.equal((await finish((nonce) => idp.idToken({ nonce, ...claims }))).subject, 'someone')
  }
  assert.equal((await verify(await idp.idToken({ nonce: 'n-1', aud: 'holdfast', azp: 'native' }))).subject, 'someone')
  assert.equal((await verify(await idp.idToken({ nonce: 'n-1' }, { typ: 'application/JWT' }))).subject, 'someone')
}

async function ofAge(started: Started): Promise<void> {
  const { idp, finish } = started
  for (const auth_time of [undefined, now() - 400, String(now()), now() + 90])
    await assert.rejects(
      finish((nonce) => idp.idToken({ nonce, auth_time }), 300),
      withReason('time'),
    )
  assert.equal((await finish((nonce) => idp.idToken({ nonce, auth_time: now() - 330 }), 300)).subject, 'someone')
}

async function inTime(started: Started): Promise<void> {
  const { idp, provider } = started
  for (const ahead of [10 * 3600, -10 * 3600]) {
    const oidc = createOidc({ outbound, now: () => new Date(Date.now() + ahead * 1000) })
    const { url, ...begun } = await oidc.begin(provider, { redirectUri })
    const finish = async (claims: Claims) => {
      const answer = await idp.answerTo(url, (nonce) => idp.idToken({ nonce, ...claims }))
      return oidc.finish(provider, answer, { redirectUri, ...begun })
    }
    assert.equal((await finish({ iat: now() + ahead, exp: now() + ahead + 60 })).subject, 'someone')
    await assert.rejects(finish({}), withReason('time'))
  }
}

test('a key that is too short, or too long to verify with, is none', async (t) => {
  const { idp, verify } = await start(t)
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  idp.published.push({ ...publicKey.export({ format: 'jwk' }), kid: 'short', alg: 'RS256' })
  idp.published.push({ kty: 'RSA', e: 'AQAB', n: 'x'.repeat(2000), kid: 'long', alg: 'RS256' })
  const text = `${base64url({ alg: 'RS256', kid: 'short' })}.${base64url(idp.claims({ nonce: 'n-1' }))}`
  const signature = signBytes('sha256', Buffer.from(text), privateKey).toString('base64url')
  await assert.rejects(verify(`${text}.${signature}`), withReason('keys'))
  await assert.rejects(verify(await idp.idToken({ nonce: 'n-1' }, { kid: 'long' })), withReason('keys'))
})

test('no shape of a header or claims throws anything else', async (t) => {
  const { idp, verify } = await start(t)
  const key = await makeKey('EdDSA')
  idp.published.push(key.jwk)
  const odds = fc.dictionary(fc.string(), fc.jsonValue())
  const names = ['iss', 'sub', 'aud', 'azp', 'exp', 'iat', 'nbf', 'nonce', 'auth_time', '__proto__', 'toString']
  await fc.assert(
    fc.asyncProperty(odds, fc.constantFrom(...names), fc.jsonValue(), async (odd, name, value) => {
      const claims = { ...odd, ...idp.claims({ nonce: 'n-1' }), [name]: value }
      await verify(await sign(key, claims)).catch((e: unknown) => assert.ok(e instanceof FederationError, String(e)))
      const header = base64url({ ...odd, alg: value })
      await assert.rejects(verify(`${header}.${base64url(value)}.AAAA`), FederationError)
    }),
    { numRuns: 100 },
  )
})
