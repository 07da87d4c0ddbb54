import type { StoredClaims } from '../../../db/tables/tenancy.ts'
import { day, second } from '../../../kernel/time.ts'
import type { License } from '../entitlement/limits.ts'

export const dateOf = (numericDate: number): Date => new Date(numericDate * second)
/** Until then all goes on as before. */
export const graceEndOf = ({ exp, grace_days }: StoredClaims): Date =>
  new Date(dateOf(exp).getTime() + grace_days * day)

/** What a license is at a time; null stands for one that is required and was never there. */
export function licenseAt(claims: StoredClaims | null, at: Date): License {
  if (!claims) return { state: 'required', edition: 'none', limits: {}, features: [], endsAt: null }
  const endsAt = graceEndOf(claims)
  const state = at < dateOf(claims.exp) ? 'active' : at < endsAt ? 'grace' : 'expired'
  return { state, edition: claims.edition, limits: claims.limits, features: claims.features, endsAt }
}
