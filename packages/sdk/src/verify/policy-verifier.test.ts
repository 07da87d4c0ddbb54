import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { contentFor, createIssuer, digestOf, makeKey } from '../../test/support/issuer.ts'
import { verifyBundle, verifyPointer } from './policy-verifier.ts'
import { pinTrust } from './trust-store.ts'

const now = new Date('2030-01-01T00:00:00Z')
const issuer = createIssuer({ now: () => now })
const { tenantId } = issuer
const trust = pinTrust(await issuer.trustSet(), { tenantId, now })
const content = contentFor('r1')
const digest = digestOf(content)
const judge = { trust, tenantId, now }
const refuses = (code: string) => ({ name: 'VerificationError', code })

const readPointer = async (
  claims: object,
  options: Parameters<typeof issuer.pointer>[1] = {},
  accepted?: { digest: string; seq: number },
) => verifyPointer({ digest, pointer: await issuer.pointer({ digest, ...claims }, options) }, judge, accepted)
const readBundle = async (overrides: object, options: Parameters<typeof issuer.bundle>[2] = {}) =>
  verifyBundle(await issuer.bundle(content, overrides, options), digest, judge)

test('what the tenant signed is read', async () => {
  assert.deepEqual(await readPointer({ seq: 7, version: 3 }), {
    digest,
    channel: 'stable',
    version: 3,
    seq: 7,
    expiresAt: new Date('2030-01-01T01:00:00Z'),
  })
  const policy = await readBundle({})
  assert.deepEqual(policy.content, content)
  assert.equal(policy.expiresAt.toISOString(), '2030-01-02T00:00:00.000Z')
})

test('any changed byte is refused', async () => {
  const bundle = await issuer.bundle(content)
  const pointer = await issuer.pointer({ digest })
  const altered = (text: string, at: number, bit: number) => {
    const bytes = Buffer.from(text, 'latin1')
    bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at)
    return bytes.toString('latin1')
  }
  const bit = fc.nat(6)
  fc.assert(
    fc.property(fc.nat(bundle.length - 1), bit, (at, n) => {
      assert.throws(() => verifyBundle(altered(bundle, at, n), digest, judge), { name: 'VerificationError' })
    }),
    { numRuns: 400 },
  )
  fc.assert(
    fc.property(fc.nat(pointer.length - 1), bit, (at, n) => {
      const answer = { digest, pointer: altered(pointer, at, n) }
      assert.throws(() => verifyPointer(answer, judge, undefined), { name: 'VerificationError' })
    }),
    { numRuns: 400 },
  )
})

test('signed for another tenant, though by a key that is trusted', async () => {
  await assert.rejects(readPointer({ tenant_id: 'tnt_b' }), refuses('wrong_tenant'))
  await assert.rejects(readPointer({ tenant_id: undefined }), refuses('wrong_tenant'))
  await assert.rejects(readBundle({ tenant_id: 'tnt_b' }), refuses('wrong_tenant'))
})

test("another tenant's key is unknown", async () => {
  const key = makeKey('policy')
  await assert.rejects(readPointer({}, { key }), refuses('unknown_key'))
  await assert.rejects(readBundle({}, { key }), refuses('unknown_key'))
})

test('a key of another purpose of the same tenant signs no policy', async () => {
  for (const key of [issuer.keys.gateway, issuer.keys.trust]) {
    await assert.rejects(readPointer({}, { key }), refuses('unknown_key'))
    await assert.rejects(readBundle({}, { key }), refuses('unknown_key'))
  }
})

test('one type does not stand in for another', async () => {
  for (const typ of ['policy-bundle+jws', 'gateway-policy+jws', 'device+jwt', 'JWT'])
    await assert.rejects(readPointer({}, { typ }), refuses('wrong_type'))
  for (const typ of ['policy-pointer+jwt', 'gateway-policy+jws', 'JWT'])
    await assert.rejects(readBundle({}, { typ }), refuses('wrong_type'))
})

test('other content than announced', async () => {
  const other = await issuer.bundle(contentFor('r2'))
  assert.throws(() => verifyBundle(other, digest, judge), refuses('wrong_digest'))
  const pointer = await issuer.pointer({ digest: digestOf(contentFor('r2')) })
  assert.throws(() => verifyPointer({ digest, pointer }, judge, undefined), refuses('wrong_digest'))
})

test('expired, to the millisecond', async () => {
  const exp = now.getTime() / 1000
  await assert.rejects(readPointer({ exp }), refuses('expired'))
  assert.ok(await readPointer({ exp: exp + 1 }))
  await assert.rejects(readBundle({ expires_at: now.toISOString() }), refuses('expired'))
  assert.ok(await readBundle({ expires_at: '2030-01-01T00:00:00.001Z' }))
})

test('seq goes up, unless it is what is in force anyway: one number never stands for two contents', async () => {
  const other = digestOf(contentFor('r0'))
  await fc.assert(
    fc.asyncProperty(fc.nat(20), fc.nat(20), fc.boolean(), async (held, seq, same) => {
      const read = readPointer({ seq }, {}, { digest: same ? digest : other, seq: held })
      if (seq > held || same) assert.equal((await read).seq, seq)
      else await assert.rejects(read, refuses('rollback'))
    }),
    { numRuns: 60 },
  )
})

test('what is signed but not of the agreed form', async () => {
  for (const claims of [{ seq: -1 }, { seq: '1' }, { seq: 1.5 }, { exp: null }, { channel: '' }])
    await assert.rejects(readPointer(claims), refuses('malformed'), JSON.stringify(claims))
  for (const overrides of [
    { schema: 'holdfast.policy-bundle/2' },
    { expires_at: 'soon' },
    { expires_at: 1 },
    { content: null },
    { content: [] },
  ])
    await assert.rejects(readBundle(overrides), refuses('malformed'), JSON.stringify(overrides))
  const later = { ...content, schema: 'holdfast.policy/2' }
  const bundle = await issuer.bundle(later)
  assert.throws(() => verifyBundle(bundle, digestOf(later), judge), refuses('malformed'))
})

test('an expired trust set judges nothing', async () => {
  const later = new Date('2030-01-08T00:00:00Z')
  const pointer = await issuer.pointer({ digest, exp: later.getTime() / 1000 + 60 })
  assert.throws(() => verifyPointer({ digest, pointer }, { ...judge, now: later }, undefined), refuses('trust_expired'))
})
