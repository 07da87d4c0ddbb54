import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createIssuer, makeKey } from '../../test/support/issuer.ts'
import { openTrust, pinTrust } from './trust-store.ts'

const now = new Date('2030-01-01T00:00:00Z')
const issuer = createIssuer({ now: () => now })
const { tenantId, keys } = issuer
const refuses = (code: string) => ({ name: 'VerificationError', code })

test('the first set is pinned when a trust-set key of its own signed it', async () => {
  const store = pinTrust(await issuer.trustSet({ version: 3 }), { tenantId, now })
  assert.equal(store.version, 3)
  assert.ok(store.keysFor('policy', now)(keys.policy.kid))
  assert.equal(store.keysFor('policy', now)(keys.gateway.kid), undefined)
  assert.equal(store.keysFor('policy', now)('__proto__'), undefined)
})

test('the first set is refused: signed by another key or purpose, of another tenant, expired, altered', async () => {
  const first = async (options: Parameters<typeof issuer.trustSet>[0], change: object = {}) =>
    pinTrust({ ...(await issuer.trustSet(options)), ...change }, { tenantId, now })
  await assert.rejects(first({ signedBy: [makeKey('trust-set')] }), refuses('unknown_key'))
  await assert.rejects(first({ signedBy: [keys.policy] }), refuses('unknown_key'))
  await assert.rejects(first({ tenant_id: 'tnt_b' }), refuses('wrong_tenant'))
  await assert.rejects(first({ expires_at: now.toISOString() }), refuses('expired'))
  await assert.rejects(first({}, { version: 9 }), refuses('wrong_digest'))
  await assert.rejects(first({}, { jwks: { keys: [] } }), refuses('unknown_key'))
})

test('set n+1 needs the signature of a trust-set key of set n', async () => {
  const store = pinTrust(await issuer.trustSet(), { tenantId, now })
  const nextKey = makeKey('trust-set')
  const published = [keys.policy, keys.trust, nextKey]
  const alone = await issuer.trustSet({ version: 2, published, signedBy: [nextKey] })
  assert.throws(() => store.accept(alone, now), refuses('unknown_key'))
  const byPolicy = await issuer.trustSet({ version: 2, published, signedBy: [keys.policy] })
  assert.throws(() => store.accept(byPolicy, now), refuses('unknown_key'))
  assert.equal(store.version, 1)

  assert.equal(
    store.accept(await issuer.trustSet({ version: 2, published, signedBy: [keys.trust, nextKey] }), now),
    true,
  )
  assert.equal(
    store.accept(await issuer.trustSet({ version: 3, published: [nextKey], signedBy: [nextKey] }), now),
    true,
  )
  assert.equal(store.keysFor('policy', now)(keys.policy.kid), undefined, 'a key that left the set is not believed')
})

test('versions never go back, and one version is one document', async () => {
  const second = await issuer.trustSet({ version: 2 })
  const store = pinTrust(second, { tenantId, now })
  const first = await issuer.trustSet({ version: 1 })
  assert.throws(() => store.accept(first, now), refuses('rollback'))
  assert.equal(store.accept(second, now), false)
  const twin = await issuer.trustSet({ version: 2, refresh_after: now.toISOString() })
  assert.throws(() => store.accept(twin, now), refuses('rollback'))
})

test('an expired set still names who may sign the next one, and judges nothing else', async () => {
  const store = openTrust(await issuer.trustSet(), { tenantId })
  const later = new Date('2030-02-01T00:00:00Z')
  assert.ok(store.isDue(later))
  assert.throws(() => store.keysFor('policy', later), refuses('trust_expired'))
  assert.equal(store.accept(await issuer.trustSet({ version: 2, expires_at: '2030-02-08T00:00:00Z' }), later), true)
  assert.ok(store.keysFor('policy', later)(keys.policy.kid))
})
