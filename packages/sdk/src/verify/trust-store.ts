import type { Contract, Output } from '@holdfast/contract'
import { decodeBase64url } from '@holdfast/crypto/base64url'
import { canonicalJson } from '@holdfast/crypto/canonical'
import { algOf, importPublic, parsePublicJwk } from '@holdfast/crypto/jwk'
import type { KeyLookup } from '@holdfast/crypto/jws'
import { verifyGeneralJws } from '@holdfast/crypto/jws-general'
import { reject, VerificationError } from '../errors.ts'
import { isObject, verified } from './signed.ts'

type Answered = Output<Contract['trustAnchors']>
export type SignedTrustSet = Omit<Answered, 'steps'>
type Steps = NonNullable<Answered['steps']>
type TrustPurpose = 'policy' | 'gateway-policy' | 'trust-set' | 'credential' | 'posture' | 'update' | 'audit-checkpoint'

/** The trusted set. `document` is JSON and may be saved. */
export type TrustStore = {
  readonly document: SignedTrustSet
  readonly version: number
  /** Returns the keys that may sign for this purpose. Throws `trust_expired` if the set is too old. */
  keysFor(purpose: TrustPurpose, now: Date): KeyLookup
  /** Returns the certificates that verify chains, PEM. Throws `trust_expired`. */
  authorities(now: Date): { anchors: string[]; intermediates: string[] }
  isDue(now: Date): boolean
  /**
   * Accepts the next set if it is signed by a key of the present one, or of one of the `steps` that lead to it. Returns
   * true if the set changed. Throws `VerificationError`.
   */
  accept(next: SignedTrustSet & { steps?: Steps }, now: Date): boolean
  /** Accepts a set as `pinTrust` accepts the first one, without a signature by the held one. */
  repin(first: SignedTrustSet, now: Date): void
}

/**
 * Pins a trust set. The first one is trusted because of its source (TLS at enrollment) and must only be signed by a key
 * that it names itself. Every later one must be signed by a key of the previous one, as for TUF roots.
 */
export function pinTrust(first: SignedTrustSet, { tenantId, now }: { tenantId: string; now: Date }): TrustStore {
  checkSet(first, keysOf(first, 'trust-set'), tenantId, now)
  return openTrust(first, { tenantId })
}

/** Opens a pinned set from trusted storage. It may have expired. */
export function openTrust(pinned: SignedTrustSet, { tenantId }: { tenantId: string }): TrustStore {
  let held = pinned
  let keys = new Map<TrustPurpose, KeyLookup>()
  const lookup = (purpose: TrustPurpose): KeyLookup => {
    const known = keys.get(purpose) ?? keysOf(held, purpose)
    keys.set(purpose, known)
    return known
  }
  const take = (set: SignedTrustSet): void => {
    held = set
    keys = new Map()
  }
  return {
    get document() {
      return held
    },
    get version() {
      return held.version
    },
    keysFor: (purpose, now) => {
      requireCurrent(held, now)
      return lookup(purpose)
    },
    authorities: (now) => {
      requireCurrent(held, now)
      return authoritiesOf(held)
    },
    isDue: (now) => now >= new Date(held.refresh_after),
    accept: ({ steps = [], ...next }, now) => {
      if (next.version < held.version) reject('rollback', `trust set ${next.version} is older than ${held.version}`)
      const led = ledBy(steps, { version: held.version, keys: lookup('trust-set') }, tenantId)
      checkSet(next, led.keys, tenantId, now)
      if (steps.length > 0 && next.version <= led.version)
        reject('rollback', 'the steps lead to a newer version than the trust set')
      if (next.version === held.version) {
        if (next.signed.payload !== held.signed.payload)
          reject('rollback', 'the trust set differs from the stored one of the same version')
        return false
      }
      take(next)
      return true
    },
    repin: (first, now) => {
      checkSet(first, keysOf(first, 'trust-set'), tenantId, now)
      take(first)
    },
  }
}

/** Parses a saved set. Throws `VerificationError`: `malformed` for other data, `wrong_digest` if it was altered. */
export function readTrustSet(text: string): SignedTrustSet {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (!isObject(value) || !isObject(value.signed) || !isObject(value.jwks))
    reject('malformed', 'the stored value is not a trust set')
  const { signed, ...document } = value
  const payload = verified(() => decodeBase64url(String(signed.payload), 'the trust set')).toString('utf8')
  if (payload !== verified(() => canonicalJson(document)))
    reject('wrong_digest', 'the trust set differs from the signed one')
  // It equals the verified payload.
  return value as SignedTrustSet
}

/** Limit of steps; servers send fewer. A step is a rotation of the key that signs trust sets. */
const mostSteps = 100

type Led = { version: number; keys: KeyLookup }

/**
 * Returns the keys that verify the next set: those of the present one, or of the last of the sets that follow it, each
 * signed by a key of the previous one. They may have expired, as steps of a TUF root may.
 */
function ledBy(steps: Steps, from: Led, tenantId: string): Led {
  if (steps.length > mostSteps) reject('malformed', `more than ${mostSteps} steps to a trust set`)
  return steps.reduce(({ version, keys }, step) => {
    const { payload } = verified(() => verifyGeneralJws(step, { typ: 'trust-set+jws', key: keys }))
    const set = parseStep(payload)
    if (set.tenant_id !== tenantId) reject('wrong_tenant', 'a step belongs to another tenant')
    if (set.version <= version) reject('rollback', 'the steps are not consecutive versions')
    return { version: set.version, keys: keysOf(set, 'trust-set') }
  }, from)
}

function parseStep(payload: Buffer): SignedTrustSet {
  let value: unknown
  try {
    value = JSON.parse(payload.toString('utf8'))
  } catch {
    value = undefined
  }
  const isSet =
    isObject(value) && Number.isSafeInteger(value.version) && isObject(value.jwks) && Array.isArray(value.jwks.keys)
  if (!isSet) reject('malformed', 'a step is not a trust set')
  return value as SignedTrustSet
}

function requireCurrent(set: SignedTrustSet, now: Date): void {
  if (now >= new Date(set.expires_at)) reject('trust_expired', 'the trust set has expired; a newer one is needed')
}

/** Ended anchors are listed for information only; no chain leads to them. */
export const authoritiesOf = ({ anchors, intermediates }: SignedTrustSet) => ({
  anchors: anchors.filter(({ state }) => state !== 'retired' && state !== 'distrusted').map((a) => a.certificate),
  intermediates: [...intermediates],
})

function checkSet(set: SignedTrustSet, key: KeyLookup, tenantId: string, now: Date): void {
  const { signed, ...document } = set
  const { payload } = verified(() => verifyGeneralJws(signed, { typ: 'trust-set+jws', key }))
  if (payload.toString('utf8') !== verified(() => canonicalJson(document)))
    reject('wrong_digest', 'the trust set differs from the signed one')
  if (document.tenant_id !== tenantId) reject('wrong_tenant', 'the trust set belongs to another tenant')
  if (!(now < new Date(document.expires_at))) reject('expired', 'the trust set has expired')
}

/** Returns keys by exact `kid` and purpose. Unreadable keys are skipped, since they may use a future algorithm. */
export function keysOf(set: Pick<SignedTrustSet, 'jwks'>, purpose: TrustPurpose): KeyLookup {
  const keys = new Map<string, ReturnType<KeyLookup>>()
  // The first set is trusted by its own keys, so these are read before anything is verified.
  const published: unknown = set.jwks?.keys
  if (!Array.isArray(published)) reject('malformed', 'the trust set has no list of keys')
  for (const jwk of published as SignedTrustSet['jwks']['keys']) {
    if (!isObject(jwk) || !Array.isArray(jwk.holdfast_purpose) || !jwk.holdfast_purpose.includes(purpose)) continue
    try {
      const publicJwk = verified(() => parsePublicJwk(jwk))
      keys.set(jwk.kid, { publicKey: verified(() => importPublic(publicJwk)), alg: algOf(publicJwk) })
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
    }
  }
  return (kid) => keys.get(kid)
}
