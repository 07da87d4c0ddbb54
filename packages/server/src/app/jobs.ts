import { background, type Database } from '../db/database.ts'
import { createRetention } from '../db/forgetting.ts'
import { dropPartitions, ensurePartitions } from '../db/partitions.ts'
import type { Prune } from '../db/retention.ts'
import type { Job } from '../jobs/runner.ts'
import type { TenantId } from '../kernel/actor.ts'
import { pruneChanges } from '../replication/changes.ts'

/** The background jobs of the deployment: those on all tables, and those of each module. */
export const appJobs = ({
  db,
  now,
  purges,
  tenants,
  forgetOldClaims,
  prunes,
  working,
}: {
  db: Database
  now: () => Date
  /** Steps before a purge and after it. */
  purges: { checkClock: () => Promise<void>; record: (tenant: TenantId) => Promise<void> }
  tenants: () => Promise<readonly TenantId[]>
  forgetOldClaims: () => Promise<unknown>
  /** In the order in which their data is deleted. */
  prunes: readonly Prune[]
  working: readonly { jobs: readonly Job[] }[]
}): Job[] => {
  const forget = createRetention({ db, tenants, prunes, recordPurges: purges.record })
  /** Checks the clock before a purge, so that a wrong clock deletes no data. */
  const purging =
    <T>(run: () => Promise<T>) =>
    async (): Promise<T> => {
      await purges.checkClock()
      return run()
    }
  return [
    { name: 'ensure_partitions', cron: '0 * * * *', run: () => ensurePartitions(db, now()) },
    { name: 'drop_old_months', cron: '10 * * * *', run: purging(() => dropPartitions(db)) },
    { name: 'forget_what_is_over', cron: '30 * * * *', run: purging(forget) },
    { name: 'forget_changes', cron: '15 * * * *', run: () => db.acrossTenants(pruneChanges, background) },
    { name: 'forget_idempotency_keys', cron: '20 * * * *', run: forgetOldClaims },
    ...working.flatMap((module) => module.jobs),
  ]
}
