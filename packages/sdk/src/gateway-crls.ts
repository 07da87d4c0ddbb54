import type { Contract, Output } from '@holdfast/contract'
import { certificateInfo } from '@holdfast/crypto/x509/certificate-info'
import { type Crl, readCrl } from '@holdfast/crypto/x509/crl-read'
import { keyIdentifier } from '@holdfast/crypto/x509/issuer'
import { encodePem } from '@holdfast/crypto/x509/pem'
import { reject, VerificationError } from './errors.ts'
import type { GatewayStore } from './gateway-store.ts'
import { isObject, verified } from './signed.ts'
import { authoritiesOf, type SignedTrustSet } from './trust-store.ts'

/** The certificate revocation lists (RFC 5280 §5) of the authorities that are trusted, verified. */
export type GatewayCrls = {
  /** All of them in one text, as nginx (`ssl_crl`) and OpenVPN (`crl-verify`) read them. */
  pem: string
  /** The anchors and intermediates that are trusted, likewise (`ssl_client_certificate`, `ca`). */
  authorities: string
  lists: readonly { issuer: string; number: bigint; nextUpdate: Date; der: Buffer }[]
  /** When the first of them ends, unless it is followed by another: then what it says counts no more. */
  expiresAt: Date
}

type Given = Pick<Output<Contract['gatewayTrustAnchors']>['crls'][number], 'issuer' | 'der'>
type Held = { issuer: string; der: Buffer; crl: Crl }
type CrlOptions = { store: GatewayStore | undefined; onStoreError: (e: unknown) => void; now: () => Date }

const schema = 'holdfast.gateway-crls/1'

/** The newest list of each authority, by the identifier of its key. */
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

  /** Throws `VerificationError`: not of this authority, older than the one that is held, or over. */
  function readNext({ issuer, der }: Given, authority: string, before: Held | undefined, mayHaveEnded: boolean): Held {
    const bytes = Buffer.from(der, 'base64')
    if (before?.der.equals(bytes)) return before
    const crl = verified(() => readCrl(bytes, authority))
    if (before && crl.number < before.crl.number)
      reject('rollback', `list ${crl.number} of ${issuer} is older than ${before.crl.number}`)
    if (before && crl.number === before.crl.number) reject('rollback', `another list ${crl.number} of ${issuer}`)
    if (!mayHaveEnded && now() >= crl.nextUpdate) reject('expired', `the list of ${issuer} has ended`)
    return { issuer, der: bytes, crl }
  }

  /**
   * Takes what is newer. A list that is refused leaves the one before, and the others are taken; of an authority that
   * is not in the set nothing is. Answers whether something is other than before, and the first refusal.
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
    /** Null before the first and when one of them has ended. */
    get current(): GatewayCrls | null {
      return shown && now() < shown.expiresAt ? shown : null
    },
    /** The list of the authority that has this certificate. */
    of: (certificate: string | Uint8Array): Crl | undefined => held.get(keyIdentifier(certificate))?.crl,
    /** Whether the half of a list's life is over, after which another has to be there. */
    isDue: (): boolean =>
      held.size === 0 ||
      [...held.values()].some(({ crl: { thisUpdate, nextUpdate } }) => {
        return now().getTime() >= (thisUpdate.getTime() + nextUpdate.getTime()) / 2
      }),
    /** Settles when it is kept; answers the first refusal. */
    take: async (given: readonly Given[], set: SignedTrustSet): Promise<VerificationError | undefined> => {
      const { isNew, refusal } = take(given, set)
      if (isNew) await keep()
      return refusal
    },
    /** Goes on with what an earlier run kept, verified again: no list may be older than those. */
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
 * Roots before what they or others certified: of one key and name there is one list. One that we can't read is none: it
 * may be of an algorithm to come.
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
    throw new TypeError('what is stored as revocation lists is something else')
  return value.crls
}
