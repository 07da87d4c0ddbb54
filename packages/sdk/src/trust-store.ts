import type { Contract, Output } from '@holdfast/contract'
import { canonicalJson } from '@holdfast/crypto/canonical'
import { algOf, importPublic, parsePublicJwk } from '@holdfast/crypto/jwk'
import type { KeyLookup } from '@holdfast/crypto/jws'
import { verifyGeneralJws } from '@holdfast/crypto/jws-general'
import { reject, VerificationError } from './errors.ts'
import { isObject, verified } from './signed.ts'

type Answered = Output<Contract['trustAnchors']>
export type SignedTrustSet = Omit<Answered, 'steps'>
type Steps = NonNullable<Answered['steps']>
type TrustPurpose = 'policy' | 'gateway-policy' | 'trust-set' | 'credential' | 'posture' | 'update'

/** The trust set that is believed at present. `document` is JSON and may be saved. */
export type TrustStore = {
  readonly document: SignedTrustSet
  readonly version: number
  /** The keys that may sign for this purpose. Throws `trust_expired` when the set is too old to judge by. */
  keysFor(purpose: TrustPurpose, now: Date): KeyLookup
  isDue(now: Date): boolean
  /**
   * Believes the next set if a key of the present one signed it, or of one of the `steps` that lead to it; answers
   * whether it is another. Throws `VerificationError`.
   */
  accept(next: SignedTrustSet & { steps?: Steps }, now: Date): boolean
}

/**
 * Pins a trust set. The first one is believed because of where it came from (TLS at enrollment) and need only be signed
 * by a key it names itself; every later one must be signed by a key of the one before, which is how TUF moves its root.
 */
export function pinTrust(first: SignedTrustSet, { tenantId, now }: { tenantId: string; now: Date }): TrustStore {
  checkSet(first, keysOf(first, 'trust-set'), tenantId, now)
  return openTrust(first, { tenantId })
}

/** Goes on with a set that was pinned before and kept in a safe place; it may have expired meanwhile. */
export function openTrust(pinned: SignedTrustSet, { tenantId }: { tenantId: string }): TrustStore {
  let held = pinned
  let keys = new Map<TrustPurpose, KeyLookup>()
  const lookup = (purpose: TrustPurpose): KeyLookup => {
    const known = keys.get(purpose) ?? keysOf(held, purpose)
    keys.set(purpose, known)
    return known
  }
  return {
    get document() {
      return held
    },
    get version() {
      return held.version
    },
    keysFor: (purpose, now) => {
      if (now >= new Date(held.expires_at)) reject('trust_expired', 'the trust set has expired; a newer one is needed')
      return lookup(purpose)
    },
    isDue: (now) => now >= new Date(held.refresh_after),
    accept: ({ steps = [], ...next }, now) => {
      if (next.version < held.version) reject('rollback', `trust set ${next.version} is older than ${held.version}`)
      checkSet(next, ledBy(steps, held, lookup('trust-set'), tenantId), tenantId, now)
      if (next.version === held.version) {
        if (next.signed.payload !== held.signed.payload) reject('rollback', 'another trust set of the same version')
        return false
      }
      held = next
      keys = new Map()
      return true
    },
  }
}

/**
 * A set that was kept as JSON. Throws `VerificationError` `malformed` for something else, `wrong_digest` where it was
 * altered.
 */
export function readTrustSet(text: string): SignedTrustSet {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (!isObject(value) || !isObject(value.signed) || !isObject(value.jwks))
    reject('malformed', 'what is stored is no trust set')
  const { signed, ...document } = value
  const payload = Buffer.from(String(signed.payload), 'base64url').toString('utf8')
  if (payload !== verified(() => canonicalJson(document)))
    reject('wrong_digest', 'the trust set is not what was signed')
  // As it was when it was verified.
  return value as SignedTrustSet
}

/**
 * The keys by which the next set is judged: those of the present one, or of the last of the sets that lead on from it,
 * each signed by a key of the one before. They may have ended, as steps of a TUF root may.
 */
function ledBy(steps: Steps, from: SignedTrustSet, keys: KeyLookup, tenantId: string): KeyLookup {
  let version = from.version
  let current = keys
  for (const step of steps) {
    const { payload } = verified(() => verifyGeneralJws(step, { typ: 'trust-set+jws', key: current }))
    const set = parseStep(payload)
    if (set.tenant_id !== tenantId) reject('wrong_tenant', 'a step is of another tenant')
    if (!(set.version > version)) reject('rollback', 'the steps do not lead on')
    version = set.version
    current = keysOf(set, 'trust-set')
  }
  return current
}

function parseStep(payload: Buffer): SignedTrustSet {
  let value: unknown
  try {
    value = JSON.parse(payload.toString('utf8'))
  } catch {
    value = undefined
  }
  if (!isObject(value) || !isObject(value.jwks) || !Array.isArray(value.jwks.keys))
    reject('malformed', 'a step is no trust set')
  return value as SignedTrustSet
}

function checkSet(set: SignedTrustSet, key: KeyLookup, tenantId: string, now: Date): void {
  const { signed, ...document } = set
  const { payload } = verified(() => verifyGeneralJws(signed, { typ: 'trust-set+jws', key }))
  if (payload.toString('utf8') !== verified(() => canonicalJson(document)))
    reject('wrong_digest', 'the trust set is not what was signed')
  if (document.tenant_id !== tenantId) reject('wrong_tenant', 'the trust set is of another tenant')
  if (!(now < new Date(document.expires_at))) reject('expired', 'the trust set has expired')
}

/** Keys by exact `kid` and purpose. One that we can't read is none: it may be of an algorithm to come. */
function keysOf(set: SignedTrustSet, purpose: TrustPurpose): KeyLookup {
  const keys = new Map<string, ReturnType<KeyLookup>>()
  for (const jwk of set.jwks.keys) {
    if (!jwk.holdfast_purpose.includes(purpose)) continue
    try {
      const publicJwk = verified(() => parsePublicJwk(jwk))
      keys.set(jwk.kid, { publicKey: verified(() => importPublic(publicJwk)), alg: algOf(publicJwk) })
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
    }
  }
  return (kid) => keys.get(kid)
}
