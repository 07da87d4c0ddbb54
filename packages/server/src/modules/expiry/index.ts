import type { TenantId } from '../../kernel/actor.ts'
import type { ExpiryDeps } from './deps.ts'
import { createExpiries } from './expiries.ts'
import { expiryHandlers, viewExpiry } from './expiry.handlers.ts'
import { pruneWarnings } from './warnings.queries.ts'
import { createWarnings } from './warnings.ts'

/** Lists what expires, and notifies administrators in time. */
export function createExpiry(deps: ExpiryDeps) {
  const expiries = createExpiries(deps)
  const warnings = createWarnings({ ...deps, expiries })
  return {
    jobs: [{ name: 'warn_of_expiry', cron: '20 * * * *', run: warnings.sweep }],
    prunes: [pruneWarnings],
    handlers: expiryHandlers(expiries),
    soonest: async (tenant: TenantId, most: number) => {
      const { soonest, at, ...counts } = await expiries.soonest(tenant, most)
      return { ...counts, soonest: soonest.map((e) => viewExpiry(e, at)) }
    },
  }
}
