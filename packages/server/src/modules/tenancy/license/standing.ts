import type { StoredClaims } from '../../../db/tables/tenancy.ts'
import { day, second } from '../../../kernel/time.ts'
import type { License } from '../plans/limits.ts'

export const dateOf = (numericDate: number): Date => new Date(numericDate * second)
/** Returns the end of the grace period. Until then everything works as before. */
export const graceEndOf = ({ exp, grace_days }: StoredClaims): Date =>
  new Date(dateOf(exp).getTime() + grace_days * day)

/** Returns the state of a license at a time. Null means that one is required and was never loaded. */
export function licenseAt(claims: StoredClaims | null, at: Date): License {
  if (!claims) return { state: 'required', edition: 'none', limits: {}, features: [], endsAt: null }
  const endsAt = graceEndOf(claims)
  const state = at < dateOf(claims.exp) ? 'active' : at < endsAt ? 'grace' : 'expired'
  return { state, edition: claims.edition, limits: claims.limits, features: claims.features, endsAt }
}
