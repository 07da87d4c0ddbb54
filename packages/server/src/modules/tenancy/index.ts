import type { InstallLines } from '@holdfast/contract/enrollment-settings'
import type { SecuritySettings } from '@holdfast/contract/settings'
import { background, type Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import type { TenancyDeps } from './deps.ts'
import { createAlerts } from './entitlement/alerts.ts'
import { createCounters } from './entitlement/counters.ts'
import { entitlementHandlers } from './entitlement/entitlement.handlers.ts'
import { tenantsWithLimits, totalsOf } from './entitlement/entitlement.queries.ts'
import { createEntitlements } from './entitlement/entitlements.ts'
import { createExceeded } from './entitlement/exceeded.ts'
import { licenseHandlers } from './license/license.handlers.ts'
import { noteTime } from './license/license.queries.ts'
import { createLicense } from './license/license.ts'
import { planHandlers } from './plans/plans.handlers.ts'
import { createTenantPlans } from './plans/plans.ts'
import { createEnrollmentSettings } from './settings/enrollment.ts'
import { linesForToken, type TokenOfLines } from './settings/install-lines.ts'
import { settingsHandlers } from './settings/settings.handlers.ts'
import { createDismissedSteps, createSettings } from './settings/settings.ts'
import { defaultTenant } from './tenant-id.ts'
import { createDeletion } from './tenants/deletion.ts'
import { createFirstTenant } from './tenants/first-tenant.ts'
import { createKnown } from './tenants/known.ts'
import { createTenantLifecycle } from './tenants/lifecycle.ts'
import { tenantHandlers } from './tenants/tenants.handlers.ts'
import { usageHandlers } from './usage/usage.handlers.ts'
import { pruneUsage } from './usage/usage.queries.ts'
import { createUsage } from './usage/usage.ts'

export { usedOf } from './entitlement/entitlement.queries.ts'
export type { Entitlements } from './entitlement/entitlements.ts'
export { defaultTenant } from './tenant-id.ts'

export function createTenancy(deps: TenancyDeps) {
  const known = createKnown(deps)
  const rules = createTenancyRules(deps)
  const { settings, entitlements, exceeded, usage, license } = rules
  return {
    ...known,
    createTenant: createFirstTenant(deps),
    enforcesSso: settings.enforcesSso,
    holdEnforcement: settings.holdEnforcement,
    settings: (tenant: TenantId): SecuritySettings | Promise<SecuritySettings> => settings.read(tenant),
    /** Returns the install lines for a new enrollment token, which contain its secret. */
    installLines: async (tx: Tx, tenant: TenantId, token: TokenOfLines): Promise<InstallLines> =>
      linesForToken(await rules.enrollmentSettings.read(tx, tenant), { ...token, server: deps.publicUrl }),
    dismissedSteps: rules.dismissedSteps,
    entitlements,
    meter: usage.meter,
    /** Returns the total of each counted metric over all tenants. */
    totals: () => deps.db.acrossTenants(totalsOf),
    usageOf: usage.of,
    usageNow: usage.standing,
    loadLicense: license.load,
    /** Returns the tenant that administers the deployment. */
    home: () => known.tenantByName(defaultTenant),
    isHome: async (tenant: TenantId): Promise<boolean> => (await known.nameOf(tenant)) === defaultTenant,
    licenseExpiries: license.expiries,
    /** Called at shutdown: writes what is still in memory. */
    stop: exceeded.flush,
    prunes: pruneUsage,
    jobs: tenancyJobs({ ...deps, ...known, ...rules }),
    handlers: tenancyHandlers({ ...deps, ...rules }),
  }
}
export type Tenancy = ReturnType<typeof createTenancy>

const tenancyHandlers = (deps: TenancyDeps & TenancyRules) => ({
  ...settingsHandlers(deps),
  ...tenantHandlers(deps),
  ...planHandlers(deps),
  ...entitlementHandlers(deps),
  ...usageHandlers(deps),
  ...licenseHandlers(deps),
})

function tenancyJobs(deps: TenancyDeps & TenancyRules & ReturnType<typeof createKnown>) {
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

/** The rules of this module, made once. */
function createTenancyRules(deps: TenancyDeps) {
  const exceeded = createExceeded(deps)
  const entitlements = createEntitlements({ ...deps, tellExceeded: exceeded.tell })
  return {
    settings: createSettings(deps),
    enrollmentSettings: createEnrollmentSettings(deps),
    dismissedSteps: createDismissedSteps(deps),
    entitlements,
    exceeded,
    alerts: createAlerts({ ...deps, entitlements }),
    counters: createCounters(deps),
    license: createLicense({ ...deps, files: deps.licenseFiles }),
    lifecycle: createTenantLifecycle({ ...deps, entitlements }),
    plans: createTenantPlans(deps),
    usage: createUsage({ ...deps, entitlements }),
  }
}
type TenancyRules = ReturnType<typeof createTenancyRules>
