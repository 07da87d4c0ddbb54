import { challengeMinutes } from '@holdfast/contract/limits'
import { challengeEnd, mintChallenge, type Peppers } from '@holdfast/crypto'
import type { CredentialVerdict, IncomingRequest, PresentedToken } from '../../http/admission/authenticate.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { minute } from '../../kernel/time.ts'

export const challengeLife = challengeMinutes * minute

/**
 * Challenges that begin an enrollment by an identity provider: the nonce of the ID token is derived from the challenge
 * and the device's key. Challenges are not stored. Their MAC proves origin, tenant and expiry. A used challenge is
 * remembered in the transaction that enrolls the device, until the challenge expires.
 */
export function createChallenges({ peppers, now }: { peppers: Peppers; now: () => Date }) {
  return {
    mint: (tenant: TenantId): { challenge: string; expiresAt: Date } => {
      const { token, id } = mintChallenge(peppers, tenant, new Date(now().getTime() + challengeLife))
      return { challenge: token, expiresAt: challengeEnd({ id }) }
    },

    /** A used challenge still identifies the caller, so that a device whose answer was lost can get it again. */
    verify: (presented: PresentedToken, { dpop: proof, method }: IncomingRequest): CredentialVerdict => {
      const { tenant: tenantId, token, digest } = presented
      const expiresAt = challengeEnd(presented)
      const left = expiresAt.getTime() - now().getTime()
      const it = { tenantId, id: uuidOf(digest), name: 'enrollment challenge' }
      if (left <= 0) return { ...it, kind: 'refused', of: 'enrollment_challenge', reason: 'expired' }
      // No challenge issued here lasts longer.
      if (left > challengeLife + minute) return undefined
      return { ...it, kind: 'enrollment_challenge', presented: { token, proof, method }, digest, expiresAt }
    },
  }
}
export type Challenges = ReturnType<typeof createChallenges>

/** First half of a digest, formatted as a UUID. */
function uuidOf(digest: Buffer): string {
  const hex = digest.toString('hex', 0, 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
