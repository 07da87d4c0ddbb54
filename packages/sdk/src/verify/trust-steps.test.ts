import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createIssuer, makeKey } from '../../test/support/issuer.ts'
import { VerificationError } from '../errors.ts'
import { openTrust, type SignedTrustSet } from './trust-store.ts'

const now = new Date('2030-01-01T00:00:00Z')
const issuer = createIssuer({ now: () => now })
const { tenantId } = issuer
const refuses = (code: string) => ({ name: 'VerificationError', code })
type Steps = SignedTrustSet['signed'][]

/** Creates sets that each list only one key of their own and are signed by it and the previous one. */
async function chainOf(length: number, more: Parameters<typeof issuer.trustSet>[0] = {}): Promise<SignedTrustSet[]> {
  const keys = Array.from({ length }, () => makeKey('trust-set'))
  return Promise.all(
    keys.map((key, n) =>
      issuer.trustSet({
        version: n + 1,
        published: [key],
        signedBy: n > 0 ? [keys[n - 1]!, key] : [key],
        ...(n < length - 1 && more),
      }),
    ),
  )
}
const accept = (from: SignedTrustSet, to: SignedTrustSet, steps: readonly SignedTrustSet[] | Steps, at = now) => {
  const store = openTrust(from, { tenantId })
  const signed = steps.map((step) => ('signed' in step ? step.signed : step))
  return { store, isNew: store.accept({ ...to, steps: signed }, at) }
}

test('who slept through rotations is led over what lies between', async () => {
  const [first, ...later] = await chainOf(6)
  const last = later.pop()!
  const { store, isNew } = accept(first!, last, later)
  assert.deepEqual([isNew, store.version], [true, 6])
  assert.equal('steps' in store.document, false)
  assert.throws(() => accept(first!, last, []), refuses('unknown_key'))
})

test('a step may have ended; the set that it leads to may not', async () => {
  const [first, second, third] = await chainOf(3, { expires_at: '2029-12-31T00:00:00Z' })
  assert.ok(accept(first!, third!, [second!]).isNew)
  assert.throws(() => accept(first!, third!, [second!], new Date('2030-02-01T00:00:00Z')), refuses('expired'))
})

test('steps that do not lead on are refused by name, and the set that is held stays', async () => {
  const [first, second, third, fourth] = await chainOf(4)
  const store = openTrust(first!, { tenantId })
  const refused = (steps: Steps, code: string, to = fourth!) => {
    assert.throws(() => store.accept({ ...to, steps }, now), refuses(code))
    assert.equal(store.version, 1)
  }
  refused([second!.signed], 'unknown_key')
  refused([third!.signed, second!.signed], 'unknown_key')
  refused([second!.signed, second!.signed, third!.signed], 'rollback')
  refused([second!.signed, third!.signed, fourth!.signed], 'rollback')

  const [entry, other] = second!.signed.signatures
  const forged = { ...third!.signed, signatures: [{ ...entry!, signature: other!.signature }] }
  refused([{ ...second!.signed, signatures: [{ ...entry!, signature: other!.signature }] }], 'bad_signature')
  refused([second!.signed, forged], 'unknown_key')
  refused([{ ...third!.signed, signatures: second!.signed.signatures }], 'bad_signature')
  refused([{ payload: '', signatures: [] }], 'malformed')
  refused(
    Array.from({ length: 101 }, () => second!.signed),
    'malformed',
  )
})

test('a step of another tenant is refused though a trusted key signed it, and so is what is no set', async () => {
  const [a, b] = [makeKey('trust-set'), makeKey('trust-set')]
  const first = await issuer.trustSet({ published: [a], signedBy: [a] })
  const foreign = await issuer.trustSet({ version: 2, tenant_id: 'tnt_b', published: [b], signedBy: [a] })
  const third = await issuer.trustSet({ version: 3, published: [b], signedBy: [b] })
  assert.throws(() => accept(first, third, [foreign]), refuses('wrong_tenant'))
  const worded = await issuer.trustSet({ version: '2' as unknown as number, published: [b], signedBy: [a] })
  assert.throws(() => accept(first, third, [worded]), refuses('malformed'))
})

test('a set older than a step that leads past it is refused, though the step lists its key', async () => {
  const [a, b] = [makeKey('trust-set'), makeKey('trust-set')]
  const first = await issuer.trustSet({ published: [a], signedBy: [a] })
  const third = await issuer.trustSet({ version: 3, published: [a, b], signedBy: [a] })
  const old = await issuer.trustSet({ version: 2, published: [b], signedBy: [b] })
  assert.throws(() => accept(first, old, [third]), refuses('rollback'))
})

test('a set goes neither back nor on by an unknown key, with steps or without', async () => {
  const [first, second, third] = await chainOf(3)
  assert.throws(() => accept(third!, second!, []), refuses('rollback'))
  assert.throws(() => accept(third!, second!, [first!]), refuses('rollback'))
  const stranger = makeKey('trust-set')
  const alone = await issuer.trustSet({ version: 4, published: [stranger], signedBy: [stranger] })
  assert.throws(() => accept(first!, alone, [second!, third!]), refuses('unknown_key'))
})

test('whatever is dropped, repeated or moved: accepted is what leads on, key by key and version by version', async () => {
  const keys = Array.from({ length: 4 }, () => makeKey('trust-set'))
  const some = fc.subarray([0, 1, 2, 3], { minLength: 1 })
  const sets = fc.array(fc.record({ lists: some, signedBy: some }), { minLength: 2, maxLength: 5 })
  const steps = fc.array(fc.nat(4), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(sets, steps, fc.nat(4), async (made, order, target) => {
      const documents = await Promise.all(
        made.map(({ lists, signedBy }, n) =>
          issuer.trustSet({
            version: n + 1,
            published: lists.map((i) => keys[i]!),
            signedBy: signedBy.map((i) => keys[i]!),
          }),
        ),
      )
      const at = (n: number) => n % made.length
      const path = [0, ...order.map(at), at(target)]
      const leads = path.every((to, i) => {
        const from = path[i - 1]
        return from === undefined || (to > from && made[to]!.signedBy.some((key) => made[from]!.lists.includes(key)))
      })
      // The held set, given again, is no change.
      fc.pre(path.length > 2 || at(target) > 0)
      let isAccepted = false
      try {
        const given = order.map((n) => documents[at(n)]!)
        isAccepted = accept(documents[0]!, documents[at(target)]!, given).isNew
      } catch (e) {
        assert.ok(e instanceof VerificationError, String(e))
      }
      assert.equal(isAccepted, leads)
    }),
    { numRuns: 300 },
  )
})
