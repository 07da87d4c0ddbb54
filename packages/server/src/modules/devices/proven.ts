import type { ProofHeader } from '@holdfast/crypto'
import type { TenantId } from '../../kernel/actor.ts'
import { createSlices } from '../../kernel/time-slice.ts'

/**
 * What the signature of a device's credential proved. Whether the device may still use it is asked of the fleet every
 * time.
 */
export class Proven {
  readonly digest: string
  readonly tenantId: TenantId
  readonly deviceId: string
  readonly generation: number
  readonly jkt: string | undefined
  readonly expiresAt: number
  /** Which keys of its tenant it was proved with. */
  readonly keys: object
  /** The key of its proofs, where there is room for it. */
  header: ProofHeader | undefined
  /** Its device has left the fleet, or has another. */
  isOver = false
  constructor(digest: string, found: Omit<Proven, 'digest' | 'header' | 'isOver'>) {
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
 * An imported key takes about 3 KB, three times as much as all else of a device; importing it costs half a
 * verification.
 */
const mostHeaders = 10_000

/**
 * What was proved of each device's credential, kept with the device: bounded by the fleet, so that no device's request
 * costs another its place. By the credential's digest it is found; what is over there goes as new ones come.
 */
export function createProvenCredentials({ isCurrent }: { isCurrent: (proven: Proven) => boolean }) {
  const byDigest = new Map<string, Proven>()
  let walk = byDigest.values()
  let headers = 0
  const left = new FinalizationRegistry<undefined>(() => headers--)

  const isGood = (proven: Proven) => !proven.isOver && isCurrent(proven)
  /** Two are looked at for each that comes, so that never more than about half of them are over. */
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
    get: (digest: string): Proven | undefined => {
      const proven = byDigest.get(digest)
      return proven && isGood(proven) ? proven : undefined
    },
    /** A device has one: the newest. */
    keep: (device: { proven: Proven | null }, proven: Proven): void => {
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
    /** The first that come keep theirs; none loses it to another. */
    keepHeader: (proven: Proven, take: () => ProofHeader): void => {
      if (!proven.header && headers >= mostHeaders) return
      const header = take()
      proven.header = header
      headers++
      left.register(header, undefined)
    },
    /** All that is over goes: many became so at once, and perhaps none comes any more. */
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
