import type { Contract, Output } from '@holdfast/contract'
import { certificateInfo } from '@holdfast/crypto/x509/certificate-info'
import { type Crl, readCrl } from '@holdfast/crypto/x509/crl-read'
import { keyIdentifier } from '@holdfast/crypto/x509/issuer'
import { encodePem } from '@holdfast/crypto/x509/pem'
import { reject, VerificationError } from '../errors.ts'
import { isObject, verified } from '../verify/signed.ts'
import { authoritiesOf, type SignedTrustSet } from '../verify/trust-store.ts'
import type { GatewayStore } from './store.ts'

/** The verified certificate revocation lists (RFC 5280 §5) of the trusted authorities. */
export type GatewayCrls = {
  /** All lists in one text, as nginx (`ssl_crl`) and OpenVPN (`crl-verify`) read them. */
  pem: string
  /** The trusted anchors and intermediates in one text (`ssl_client_certificate`, `ca`). */
  authorities: string
  lists: readonly { issuer: string; number: bigint; nextUpdate: Date; der: Buffer }[]
  /** End of the first list to expire. Without a newer one, all lists are invalid from then on. */
  expiresAt: Date
}

type Given = Pick<Output<Contract['gatewayTrustAnchors']>['crls'][number], 'issuer' | 'der'>
type Held = { issuer: string; der: Buffer; crl: Crl }
type CrlOptions = { store: GatewayStore | undefined; onStoreError: (e: unknown) => void; now: () => Date }

const schema = 'holdfast.gateway-crls/1'

/** Manages the newest list of each authority, by its key identifier. */
export function createCrls({ store, onStoreError, now }: CrlOptions) {
  let held = new Map<string, Held>()
  let shown: GatewayCrls | null = null

  function show(set: SignedTrustSet): GatewayCrls | null {
    if (held.size === 0) return null
    const lists = [...held.values()].map(({ issuer, der, crl: { number, nextUpdate } }) => {
      return { issuer, number, nextUpdate, der }
    })
    return {
      pem: lists.map(({ der }) => encodePem('X509 CRL', der)).join(''),
      authorities: Object.values(authoritiesOf(set)).flat().join(''),
      lists,
      expiresAt: new Date(Math.min(...lists.map(({ nextUpdate }) => nextUpdate.getTime()))),
    }
  }

  /** Throws `VerificationError` if the list is not of this authority, older than the held one, or expired. */
  function readNext({ issuer, der }: Given, authority: string, before: Held | undefined, mayHaveEnded: boolean): Held {
    const bytes = Buffer.from(der, 'base64')
    if (before?.der.equals(bytes)) return before
    const crl = verified(() => readCrl(bytes, authority))
    if (before && crl.number < before.crl.number)
      reject('rollback', `list ${crl.number} of ${issuer} is older than ${before.crl.number}`)
    if (before && crl.number === before.crl.number)
      reject('rollback', `list ${crl.number} of ${issuer} differs from the stored list of the same number`)
    if (!mayHaveEnded && now() >= crl.nextUpdate) reject('expired', `the list of ${issuer} has expired`)
    return { issuer, der: bytes, crl }
  }

  /**
   * Accepts newer lists. A refused list leaves the previous one in place, and the others are accepted; lists of
   * authorities outside the set are removed. Returns whether anything changed, and the first refusal.
   */
  function take(given: readonly Given[], set: SignedTrustSet, mayHaveEnded = false) {
    const authorities = authoritiesByKey(set)
    const next = new Map([...held].filter(([key]) => authorities.has(key)))
    let refusal: VerificationError | undefined
    for (const [key, { certificate, subject }] of authorities)
      for (const one of given) {
        if (one.issuer !== subject) continue
        try {
          next.set(key, readNext(one, certificate, next.get(key), mayHaveEnded))
        } catch (e) {
          if (!(e instanceof VerificationError)) throw e
          refusal ??= e
        }
      }
    const isNew = next.size !== held.size || [...next].some(([key, list]) => held.get(key) !== list)
    if (isNew) {
      held = next
      shown = show(set)
    }
    return { isNew, refusal }
  }

  const keep = () => {
    const crls = [...held.values()].map(({ issuer, der }) => ({ issuer, der: der.toString('base64') }))
    return store?.save('crls', JSON.stringify({ schema, crls })).catch(onStoreError)
  }

  return {
    /** Null before the first lists and after the end of one of them. */
    get current(): GatewayCrls | null {
      return shown && now() < shown.expiresAt ? shown : null
    },
    /** Returns the list of the authority with this certificate. */
    of: (certificate: string | Uint8Array): Crl | undefined => held.get(keyIdentifier(certificate))?.crl,
    /** True after half of a list's life, when a newer one must exist. */
    isDue: (): boolean =>
      held.size === 0 ||
      [...held.values()].some(({ crl: { thisUpdate, nextUpdate } }) => {
        return now().getTime() >= (thisUpdate.getTime() + nextUpdate.getTime()) / 2
      }),
    /** Settles when the lists are saved. Returns the first refusal. */
    take: async (given: readonly Given[], set: SignedTrustSet): Promise<VerificationError | undefined> => {
      const { isNew, refusal } = take(given, set)
      if (isNew) await keep()
      return refusal
    },
    /** Loads the lists of an earlier run and verifies them again. Later lists must not be older. */
    restore: async (set: SignedTrustSet): Promise<void> => {
      const text = await store?.load('crls')
      if (text === undefined) return
      const { refusal } = take(listsOf(text), set, true)
      if (refusal) throw refusal
    },
  }
}
export type Crls = ReturnType<typeof createCrls>

/**
 * Roots come before other certificates of the same key and name, which share one list. Unreadable certificates are
 * skipped, since they may use a future algorithm.
 */
function authoritiesByKey(set: SignedTrustSet) {
  const { anchors, intermediates } = authoritiesOf(set)
  const authorities = new Map<string, { certificate: string; subject: string }>()
  for (const certificate of [...anchors, ...intermediates]) {
    try {
      const key = verified(() => keyIdentifier(certificate))
      const { subject } = verified(() => certificateInfo(certificate))
      if (!authorities.has(key)) authorities.set(key, { certificate, subject })
    } catch (e) {
      if (!(e instanceof VerificationError)) throw e
    }
  }
  return authorities
}

function listsOf(text: string): Given[] {
  const value: unknown = JSON.parse(text)
  if (!isObject(value) || value.schema !== schema || !Array.isArray(value.crls))
    throw new TypeError('the stored value is not a set of revocation lists')
  return value.crls
}
