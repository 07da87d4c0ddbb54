import { background } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import type { TenancyDeps } from './deps.ts'
import { tenantsWithLimits } from './entitlement/entitlement.queries.ts'
import { noteTime } from './license/license.queries.ts'
import type { TenancyRules } from './rules.ts'
import { defaultTenant } from './tenants/default-tenant.ts'
import { createDeletion } from './tenants/deletion.ts'
import type { createKnown } from './tenants/known.ts'

export function tenancyJobs(deps: TenancyDeps & TenancyRules & ReturnType<typeof createKnown>) {
  const { db, counters, alerts, now, listTenantIds } = deps
  const watch = (tenants: readonly TenantId[]) => eachTenant(tenants, alerts.watch)
  const deleteTenants = createDeletion({ ...deps, platform: () => deps.tenantByName(defaultTenant) })
  return [
    {
      name: 'count_entitlements',
      cron: '* * * * *',
      run: async () => {
        await db.acrossTenants((tx) => noteTime(tx, now()))
        await watch(await counters.fold())
      },
    },
    // Limits, plans, the license and the bytes of the month change without a counter.
    {
      name: 'watch_entitlements',
      cron: '*/10 * * * *',
      run: async () => watch(await db.acrossTenants(tenantsWithLimits, background)),
    },
    {
      name: 'reconcile_entitlements',
      cron: '40 3 * * *',
      run: async () => counters.reconcile(await listTenantIds()),
    },
    { name: 'delete_tenants', cron: '*/10 * * * *', run: deleteTenants },
  ]
}
