import {
  algOf,
  type Checkpoint,
  CryptoError,
  importPublic,
  openCheckpoint,
  type PublicJwk,
  parsePublicJwk,
  peekCheckpoint,
  type VerificationKey,
} from '@holdfast/crypto'
import type { SignedTrustSet } from '@holdfast/sdk'
import { UsageError } from '../exit.ts'
import { BadRecord } from './bad-record.ts'

/** The keys of a tenant that sign what stands on its record, by their `kid`. */
export type Trusted = { tenantId: string; keys: ReadonlyMap<string, VerificationKey & { jwk: PublicJwk }> }

/** Of a trust set. A key that can't be read is none: it may be of an algorithm to come. */
export function trustedBy({ tenant_id, jwks }: Pick<SignedTrustSet, 'tenant_id' | 'jwks'>): Trusted {
  const keys = jwks.keys.flatMap(({ kid, ...given }) => {
    if (!given.holdfast_purpose.includes('audit-checkpoint')) return []
    try {
      const jwk = parsePublicJwk(given)
      return [[kid, { jwk, alg: algOf(jwk), publicKey: importPublic(jwk) }] as const]
    } catch (e) {
      if (e instanceof CryptoError) return []
      throw e
    }
  })
  return { tenantId: tenant_id, keys: new Map(keys) }
}

export type Known = Checkpoint & {
  note: string
  /** By one of the keys. What a key signed that has ended is vouched for by the checkpoints after it alone. */
  isSigned: boolean
  /** By whoever verifies, who kept it: not out of the hand that is to be judged. */
  isBrought: boolean
}
/** Whether it says what was recorded; otherwise it may contradict, and vouches for nothing. */
export const vouches = ({ isSigned, isBrought }: Known): boolean => isSigned || isBrought

/** Throws `BadRecord` for one that is none, of another tenant, or whose signature does not hold. */
export function readCheckpoint(note: string, trusted: Trusted | undefined): Known {
  const known = openKnown(note, trusted)
  const [, tenantId] = /^[^/]+\/audit\/([^/]+)(?:\/[^/]+)?$/.exec(known.origin) ?? []
  if (trusted && tenantId !== trusted.tenantId)
    throw new BadRecord(1, `a checkpoint is of another record: that of ${tenantId ?? known.origin}`)
  return known
}

/** One that was kept elsewhere. Throws `UsageError` for what is no checkpoint at all. */
export function bringCheckpoint(note: string, trusted: Trusted | undefined): Known {
  try {
    peekCheckpoint(note)
  } catch (e) {
    if (!(e instanceof CryptoError)) throw e
    throw new UsageError(`What was given with --checkpoint is no checkpoint: ${e.message}.`)
  }
  return { ...readCheckpoint(note, trusted), isBrought: true }
}

function openKnown(note: string, trusted: Trusted | undefined): Known {
  try {
    const keys = [...(trusted?.keys.values() ?? [])].map((key) => key.jwk)
    return { ...openCheckpoint(note, keys), note, isSigned: true, isBrought: false }
  } catch (e) {
    if (!(e instanceof CryptoError)) throw e
    if (e.code === 'unknown_key') return { ...peekCheckpoint(note), note, isSigned: false, isBrought: false }
    const size = e.code === 'bad_signature' ? peekCheckpoint(note).size : 1
    throw new BadRecord(size, `a checkpoint is forged: ${e.message}`)
  }
}
