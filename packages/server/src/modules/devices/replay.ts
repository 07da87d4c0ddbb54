import { rememberedProofSeconds } from '@holdfast/contract/limits'
import { second } from '../../kernel/time.ts'
/** Returns the time until which a used proof is remembered. */
export const proofExpiry = (at: Date): Date => new Date(at.getTime() + rememberedProofSeconds * second)

/** Remembers marks for at least `windowMs`, in two sets that rotate. */
export function createReplayGuard(windowMs: number) {
  let current = new Set<string>()
  let previous = new Set<string>()
  let turnedAt = 0
  return {
    /** True if the mark is new. */
    isFirst: (mark: string, nowMs: number): boolean => {
      if (nowMs - turnedAt > windowMs) {
        previous = nowMs - turnedAt > 2 * windowMs ? new Set() : current
        current = new Set()
        turnedAt = nowMs
      }
      if (current.has(mark) || previous.has(mark)) return false
      current.add(mark)
      return true
    },
  }
}
