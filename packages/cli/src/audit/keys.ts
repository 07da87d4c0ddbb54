import {
  type Checkpoint,
  CryptoError,
  openCheckpoint,
  type PublicJwk,
  parsePublicJwk,
  peekCheckpoint,
} from '@holdfast/crypto'
import type { readTrustSet } from '@holdfast/sdk'
import { BadRecord } from './chain.ts'

type TrustSet = ReturnType<typeof readTrustSet>

/** The keys that a trust set lists for checkpoints. One that can't be read is none: it may be of an algorithm to come. */
export const checkpointKeys = ({ jwks }: Pick<TrustSet, 'jwks'>): PublicJwk[] =>
  jwks.keys.flatMap((jwk) => {
    if (!jwk.holdfast_purpose.includes('audit-checkpoint')) return []
    try {
      return [parsePublicJwk(jwk)]
    } catch (e) {
      if (e instanceof CryptoError) return []
      throw e
    }
  })

/**
 * What a checkpoint says, and whether one of the keys signed it: that of a key that has ended is vouched for by those
 * after it alone. Throws `BadRecord` for one that is none, or whose signature does not hold.
 */
export function readCheckpoint(note: string, keys: readonly PublicJwk[]): Checkpoint & { isSigned: boolean } {
  try {
    return { ...openCheckpoint(note, keys), isSigned: true }
  } catch (e) {
    if (!(e instanceof CryptoError)) throw e
    if (e.code === 'unknown_key') return { ...peekCheckpoint(note), isSigned: false }
    const size = e.code === 'bad_signature' ? peekCheckpoint(note).size : 1
    throw new BadRecord(size, `a checkpoint is forged: ${e.message}`)
  }
}
