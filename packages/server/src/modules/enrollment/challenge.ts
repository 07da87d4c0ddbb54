import { challengeEnd, mintChallenge, type Peppers } from '@holdfast/crypto'
import type { Incoming, PresentedToken, Verdict } from '../../http/authenticate.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { minute } from '../../kernel/time.ts'

/** Long enough for a person to sign in at their identity provider. */
export const challengeLife = 15 * minute

/**
 * What begins an enrollment by an identity provider: the ID token is asked for with a nonce made of it and of the
 * device's key. It is stored nowhere. The MAC says that it was given out here, of which tenant it is and when it ends;
 * that it was used is remembered in the transaction that enrolls its device, and only so long as it would be good.
 */
export function createChallenges({ peppers, now }: { peppers: Peppers; now: () => Date }) {
  return {
    mint: (tenant: TenantId): { challenge: string; expiresAt: Date } => {
      const { token, id } = mintChallenge(peppers, tenant, new Date(now().getTime() + challengeLife))
      return { challenge: token, expiresAt: challengeEnd({ id }) }
    },

    /** One that was used still says who asks, so that a device whose answer was lost gets it again. */
    verify: (presented: PresentedToken, { dpop: proof, method }: Incoming): Verdict => {
      const { tenant: tenantId, token, digest } = presented
      const expiresAt = challengeEnd(presented)
      const left = expiresAt.getTime() - now().getTime()
      const it = { tenantId, id: uuidOf(digest), name: 'enrollment challenge' }
      if (left <= 0) return { ...it, kind: 'refused', of: 'enrollment_challenge', reason: 'expired' }
      // Nobody here gives out one that is good for longer.
      if (left > challengeLife + minute) return undefined
      return { ...it, kind: 'enrollment_challenge', presented: { token, proof, method }, digest, expiresAt }
    },
  }
}
export type Challenges = ReturnType<typeof createChallenges>

/** The first half of a digest, in the shape of an id. */
function uuidOf(digest: Buffer): string {
  const hex = digest.toString('hex', 0, 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
