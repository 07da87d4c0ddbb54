import type { ProofHeader } from '@holdfast/crypto'
import type { TenantId } from '../../kernel/actor.ts'
import { createSlices } from '../../kernel/time-slice.ts'

/**
 * Verified content of a device's credential. The fleet decides for each request whether the device may still use it.
 */
export class VerifiedProof {
  readonly digest: string
  readonly tenantId: TenantId
  readonly deviceId: string
  readonly generation: number
  readonly jkt: string | undefined
  readonly expiresAt: number
  /** Identifies the tenant's keys with which it was verified. */
  readonly keys: object
  /** Parsed header of its proofs, if the cache had capacity. */
  header: ProofHeader | undefined
  /** The device has left the fleet, or has a newer credential. */
  isOver = false
  constructor(digest: string, found: Omit<VerifiedProof, 'digest' | 'header' | 'isOver'>) {
    this.digest = digest
    this.tenantId = found.tenantId
    this.deviceId = found.deviceId
    this.generation = found.generation
    this.jkt = found.jkt
    this.expiresAt = found.expiresAt
    this.keys = found.keys
  }
}

/**
 * An imported key takes about 3 KB, three times as much as the rest of a device. Importing it costs half a
 * verification.
 */
const mostHeaders = 10_000

/**
 * Verified credentials, kept with their devices. The fleet bounds their number, so that no device evicts another's.
 * They are found by the digest of the credential. Outdated entries are removed as new ones arrive.
 */
export function createProvenCredentials({ isCurrent }: { isCurrent: (proven: VerifiedProof) => boolean }) {
  const byDigest = new Map<string, VerifiedProof>()
  let walk = byDigest.values()
  let headers = 0
  const left = new FinalizationRegistry<undefined>(() => headers--)

  const isGood = (proven: VerifiedProof) => !proven.isOver && isCurrent(proven)
  /** Examines two entries for each new one, so that at most about half of them are outdated. */
  function sweep(): void {
    for (let n = 0; n < 2; n++) {
      const { value, done } = walk.next()
      if (done) {
        walk = byDigest.values()
        return
      }
      if (!isGood(value)) byDigest.delete(value.digest)
    }
  }

  return {
    get: (digest: string): VerifiedProof | undefined => {
      const proven = byDigest.get(digest)
      return proven && isGood(proven) ? proven : undefined
    },
    /** Stores the newest credential of a device, its only one. */
    keep: (device: { proven: VerifiedProof | null }, proven: VerifiedProof): void => {
      const before = device.proven
      if (before && isGood(before)) {
        if (before.generation > proven.generation) return
        if (before.jkt === proven.jkt) proven.header = before.header
      }
      if (before) {
        before.isOver = true
        byDigest.delete(before.digest)
      }
      device.proven = proven
      byDigest.set(proven.digest, proven)
      sweep()
    },
    /** First come, first served: no device loses its header to another. */
    keepHeader: (proven: VerifiedProof, take: () => ProofHeader): void => {
      if (!proven.header && headers >= mostHeaders) return
      const header = take()
      proven.header = header
      headers++
      left.register(header, undefined)
    },
    /** Removes all outdated entries. Needed when many become outdated at once, since new ones may not arrive. */
    sweepAll: async (): Promise<void> => {
      const slice = createSlices()
      for (const proven of byDigest.values()) {
        if (slice.isOver()) await slice.next()
        if (!isGood(proven)) byDigest.delete(proven.digest)
      }
    },
    get size() {
      return byDigest.size
    },
  }
}
