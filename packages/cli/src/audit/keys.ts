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

/** The keys that sign a tenant's audit log, by `kid`. */
export type Trusted = { tenantId: string; keys: ReadonlyMap<string, VerificationKey & { jwk: PublicJwk }> }

/** Returns these keys of a trust set. Unreadable keys are skipped, since they may use a future algorithm. */
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
  /** Signed by one of the keys. A checkpoint of an expired key is trusted only through later checkpoints. */
  isSigned: boolean
  /** Kept by the user, so it does not come from the server under test. */
  isBrought: boolean
}
/** True if a checkpoint is trusted. Otherwise it can only contradict the log, not confirm it. */
export const vouches = ({ isSigned, isBrought }: Known): boolean => isSigned || isBrought

/** Throws `BadRecord` for an invalid checkpoint, one of another tenant, or one with a wrong signature. */
export function readCheckpoint(note: string, trusted: Trusted | undefined): Known {
  const known = openKnown(note, trusted)
  const [, tenantId] = /^[^/]+\/audit\/([^/]+)(?:\/[^/]+)?$/.exec(known.origin) ?? []
  if (trusted && tenantId !== trusted.tenantId)
    throw new BadRecord(1, `a checkpoint belongs to another audit log: that of ${tenantId ?? known.origin}`)
  return known
}

/** Reads a checkpoint that the user kept. Throws `UsageError` if it is no checkpoint. */
export function bringCheckpoint(note: string, trusted: Trusted | undefined): Known {
  try {
    peekCheckpoint(note)
  } catch (e) {
    if (!(e instanceof CryptoError)) throw e
    throw new UsageError(`The file of --checkpoint is not a checkpoint: ${e.message}.`)
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
