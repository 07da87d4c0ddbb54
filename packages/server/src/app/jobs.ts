import { background } from '../db/database.ts'
import { createRetention } from '../db/forgetting.ts'
import { dropPartitions, ensurePartitions } from '../db/partitions.ts'
import type { Job } from '../jobs/runner.ts'
import { pruneChanges } from '../replication/changes.ts'
import type { Base } from './base.ts'
import type { Modules } from './modules.ts'

/**
 * The background jobs of the deployment: those on all tables, and those of each module.
 *
 * @param forgetOldClaims deletes idempotency claims after a day
 */
export function appJobs(
  { db, now }: Base,
  { access, compliance, gateways, notifications, prunes, tenancy, ...modules }: Modules,
  forgetOldClaims: () => Promise<unknown>,
): Job[] {
  const { purges } = compliance
  const tenants = tenancy.listTenantIds
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
    ...tenancy.jobs,
    ...modules.identity.jobs,
    ...modules.trust.jobs,
    ...modules.certificates.jobs,
    ...modules.policy.jobs,
    ...gateways.jobs,
    ...modules.devices.jobs,
    ...modules.directory.jobs,
    ...modules.federation.jobs,
    ...modules.health.jobs,
    ...modules.masterKeys.jobs,
    ...modules.expiry.jobs,
    ...modules.updates.jobs,
    ...modules.audit.jobs,
    ...modules.siem.jobs,
    ...modules.locks.jobs,
    ...modules.workflows.jobs,
    ...modules.dashboard.jobs,
    ...access.jobs(tenants),
    ...notifications.jobs(gateways.silentGateways),
  ]
}
