import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { makeKey, sign, startHostileProvider } from '../../../../../test/support/providers/hostile-oidc-provider.ts'
import { hour, minute, second } from '../../../../kernel/time.ts'
import { createOutbound } from '../../../../outbound/outbound.ts'
import { FederationError } from '../../enrollment/proven.ts'
import { createOidc } from './oidc.ts'

const guard = createOutbound({ allowedPrivateCidrs: ['127.0.0.0/8'] })
/** Timeouts in ms: that of the product, and a short one for requests that never end. */
const [patient, impatient] = [5 * second, 400]
const discovery = '/.well-known/openid-configuration'
const expected = { audiences: ['holdfast'], nonce: 'n', maxAgeSeconds: 600 }
const withReason = (reason: FederationError['reason']) => (e: unknown) =>
  e instanceof FederationError && e.reason === reason

async function start(t: TestContext) {
  const idp = await startHostileProvider(t)
  let at = 0
  let timeoutMs = patient
  const outbound = {
    refusalOf: guard.refusalOf,
    request: (...[url, options]: Parameters<typeof guard.request>) => guard.request(url, { ...options, timeoutMs }),
  }
  const oidc = createOidc({ outbound, now: () => new Date(), nowMs: () => at })
  const provider = { kind: 'oidc' as const, issuer: idp.issuer, mappedClaims: async () => [] }
  const token = await idp.idToken({ nonce: 'n' })
  return {
    idp,
    provider,
    oidc,
    token,
    verify: async (text = token) => (await oidc.verify(provider, text, expected)).subject,
    inspect: () => oidc.inspect(provider),
    pass: (ms: number) => {
      at += ms
    },
    waits: (ms: number) => {
      timeoutMs = ms
    },
  }
}

/** Faulty documents in the place of metadata or keys. */
const faults: Record<
  string,
  { answer: RequestListener; discovery: FederationError['reason']; keys: FederationError['reason'] }
> = {
  'status 500': { answer: (_, r) => r.writeHead(500).end('{}'), discovery: 'discovery', keys: 'keys' },
  nothing: { answer: (_, r) => r.writeHead(204).end(), discovery: 'discovery', keys: 'keys' },
  'a redirect to an address of the link': {
    answer: (_, r) => r.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
    discovery: 'discovery',
    keys: 'keys',
  },
  silence: { answer: () => {}, discovery: 'unreachable', keys: 'unreachable' },
  '10 MB': {
    answer: (_, r) => r.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.alloc(10_000_000, '[')),
    discovery: 'unreachable',
    keys: 'unreachable',
  },
  'a page': { answer: (_, r) => r.writeHead(200).end('<html>'), discovery: 'discovery', keys: 'keys' },
  'JSON null': { answer: (_, r) => r.writeHead(200).end('null'), discovery: 'discovery', keys: 'keys' },
  'an empty object': { answer: (_, r) => r.writeHead(200).end('{}'), discovery: 'discovery', keys: 'keys' },
  'a cut connection': { answer: (q) => q.socket.destroy(), discovery: 'unreachable', keys: 'unreachable' },
}
test('what stands instead of metadata or keys is refused, and does not concern other providers', async (t) => {
  const [sick, healthy] = [await start(t), await start(t)]
  for (const [name, fault] of Object.entries(faults))
    await t.test(name, async () => {
      for (const [path, reason] of [
        ['/keys', fault.keys],
        [discovery, fault.discovery],
      ] as const) {
        sick.idp.answers.set(path, fault.answer)
        sick.waits(name === 'silence' ? impatient : patient)
        await assert.rejects(sick.inspect(), withReason(reason), path)
        sick.pass(hour)
        const failing = assert.rejects(sick.verify(), withReason(reason), path)
        assert.equal(await healthy.verify(), 'someone')
        await failing
        sick.idp.answers.delete(path)
        sick.waits(patient)
        await assert.rejects(sick.verify(), withReason(reason), 'for a few seconds the failure is shared')
        sick.pass(5 * second)
        assert.equal(await sick.verify(), 'someone')
      }
    })
})

test('all who ask at once share one request, and its failure', async (t) => {
  const { idp, verify, pass, waits } = await start(t)
  await Promise.all(Array.from({ length: 40 }, () => verify()))
  assert.deepEqual([idp.hitsOf(discovery), idp.hitsOf('/keys')], [1, 1])
  pass(hour)
  idp.answers.set(discovery, () => {})
  waits(impatient)
  for (let round = 0; round < 3; round++)
    await Promise.all(Array.from({ length: 40 }, () => assert.rejects(verify(), withReason('unreachable'))))
  assert.equal(idp.hitsOf(discovery), 2)
})

test('what is held is used for an hour and not a moment longer', async (t) => {
  const { idp, verify, pass } = await start(t)
  await verify()
  for (const path of [discovery, '/keys']) idp.answers.set(path, (_, r) => r.writeHead(503).end())
  pass(hour - 1)
  assert.equal(await verify(), 'someone')
  pass(1)
  await assert.rejects(verify(), withReason('discovery'))
  idp.answers.delete(discovery)
  pass(5 * second)
  await assert.rejects(verify(), withReason('keys'), 'the keys of an hour ago are not used')
  pass(24 * hour)
  await assert.rejects(verify(), withReason('keys'))
  idp.answers.clear()
  pass(5 * second)
  assert.equal(await verify(), 'someone')
})

test('a hundred unknown names of keys cost one request', async (t) => {
  const { idp, verify, pass } = await start(t)
  await verify()
  const stranger = await makeKey('EdDSA')
  const flood = async () => {
    for (let i = 0; i < 50; i++)
      await assert.rejects(
        verify(await sign(stranger, idp.claims({ nonce: 'n' }), { kid: `k${i}` })),
        withReason('keys'),
      )
    const nameless = await sign(stranger, idp.claims({ nonce: 'n' }), { kid: undefined })
    await Promise.all(Array.from({ length: 50 }, () => assert.rejects(verify(nameless), withReason('keys'))))
  }
  await flood()
  assert.equal(idp.hitsOf('/keys'), 2)
  assert.equal(await verify(), 'someone')
  pass(minute)
  await flood()
  assert.equal(idp.hitsOf('/keys'), 3)
})

test('keys that change in the middle are followed: with a new name, under the same one, without any', async (t) => {
  const { idp, verify, pass } = await start(t)
  await verify()
  for (const kid of ['next', 'next', undefined]) {
    const { jwk, ...key } = await makeKey('RS256', 'next')
    idp.published.splice(0, 1, kid === undefined ? { ...jwk, kid: undefined as never } : jwk)
    const token = await sign({ jwk, ...key }, idp.claims({ nonce: 'n' }), { kid })
    pass(minute)
    assert.equal(await verify(token), 'someone', String(kid))
    await assert.rejects(verify(), withReason('keys'), 'the first key is gone')
  }
})

test('a key set that is full of other things gives what can be used of it', async (t) => {
  const { idp, inspect, verify } = await start(t)
  const right = idp.published[0]!
  idp.published.unshift(
    null as never,
    'key' as never,
    { kty: 'oct', k: 'c2VjcmV0', kid: right.kid!, alg: 'HS256' },
    { ...right, use: 'enc' },
    { ...right, kid: 5 as never },
    { ...right, kty: 'AKP' },
    { kty: 'EC', crv: 'P-521', x: 'x', y: 'y' },
    { kty: 'RSA', n: right.n! },
  )
  assert.equal((await inspect()).keys, 1)
  assert.equal(await verify(), 'someone')
  idp.published.push({ ...right })
  await inspect()
  await assert.rejects(verify(), withReason('keys'), 'two keys of one name')
  idp.published.push(...Array.from({ length: 50 }, (_, i) => ({ ...right, kid: `k${i}` })))
  await assert.rejects(inspect(), withReason('keys'), 'too many')
  idp.published.length = 1
  idp.answers.set('/keys', (_, r) => r.writeHead(404).end(JSON.stringify({ keys: [right] })))
  await assert.rejects(inspect(), withReason('keys'), 'keys on a page that is not there')
  idp.answers.clear()
  idp.published.length = 0
  await assert.rejects(inspect(), withReason('keys'), 'none')
})

test('an inspection reads anew, and what it found holds for those who sign in', async (t) => {
  const { idp, verify, inspect } = await start(t)
  await verify()
  const key = await makeKey('ES256')
  idp.published.splice(0, 1, key.jwk)
  assert.deepEqual(await inspect().then(({ keys, algorithms }) => [keys, algorithms.length]), [1, 5])
  assert.equal(await verify(await sign(key, idp.claims({ nonce: 'n' }))), 'someone')
  assert.equal(idp.hitsOf('/keys'), 2)
  idp.answers.set(discovery, (_, r) => r.writeHead(500).end())
  await assert.rejects(inspect(), withReason('discovery'))
  idp.answers.clear()
  assert.equal((await inspect()).keys, 1)
})
