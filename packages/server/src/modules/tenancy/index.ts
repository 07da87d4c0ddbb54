import type { InstallLines } from '@holdfast/contract/enrollment-settings'
import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { TenancyDeps } from './deps.ts'
import { totalsOf } from './entitlement/entitlement.queries.ts'
import { tenancyHandlers } from './handlers.ts'
import { tenancyJobs } from './jobs.ts'
import { createTenancyRules } from './rules.ts'
import { linesForToken, type TokenOfLines } from './settings/install-lines.ts'
import { defaultTenant } from './tenants/default-tenant.ts'
import { createFirstTenant } from './tenants/first-tenant.ts'
import { createKnown } from './tenants/known.ts'
import { pruneUsage } from './usage/usage.queries.ts'

export { usedOf } from './entitlement/entitlement.queries.ts'
export type { Entitlements } from './entitlement/entitlements.ts'
export { defaultTenant } from './tenants/default-tenant.ts'

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
