import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import * as queries from './login.queries.ts'

type Limits = Pick<SecuritySettings['login'], 'max_failures_per_ip' | 'window_seconds'>

/**
 * Counts failures of a source after they happened, on all replicas together. Password attempts are counted before the
 * check (`login.ts`), so that concurrent guesses are limited too. Secrets that nobody can guess need no such limit, and
 * many concurrent users of one address do not count against each other.
 */
export const createSourceFailures = ({ db, now }: { db: Database; now: () => Date }) => {
  const boundOf = ({ max_failures_per_ip, window_seconds }: Limits) => ({
    max: max_failures_per_ip,
    windowSeconds: window_seconds,
    at: now(),
  })
  return {
    /** Returns 0 while the source is below the limit. */
    secondsToWait: async (tenant: TenantId, source: string, limits: Limits): Promise<number> => {
      const bound = boundOf(limits)
      const full = await db.inTenant(tenant, (tx) => queries.findFullWindow(tx, source, bound))
      if (!full) return 0
      return Math.max(1, Math.ceil(bound.windowSeconds - (bound.at.getTime() - full.window_start.getTime()) / 1000))
    },
    count: async (tenant: TenantId, source: string, limits: Limits): Promise<void> => {
      await db.inTenant(tenant, (tx) => queries.reserveSource(tx, source, boundOf(limits)))
    },
  }
}
export type SourceFailures = ReturnType<typeof createSourceFailures>
