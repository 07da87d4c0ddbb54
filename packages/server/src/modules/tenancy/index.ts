import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Memory } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import type { Notify } from '../notifications/index.ts'
import { tenancyHandlers } from './handlers.ts'
import { type LicenseFiles, tenancyJobs } from './jobs.ts'
import { createRules } from './rules.ts'
import type { Enforcement } from './settings/settings.ts'
import { createFirstTenant } from './tenants/first-tenant.ts'
import { createKnown } from './tenants/known.ts'
import type { PrepareAdministrator } from './tenants/lifecycle.ts'
import { pruneUsage } from './usage/usage.queries.ts'

export type { Entitlements } from './entitlement/entitlements.ts'

/** What other modules know is given as functions: this one stands below them. */
export type TenancyDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  pager: Pager
  now: () => Date
  log: { warn: (o: object, message: string) => void }
  onError: (e: Error) => void
  licenseFiles: LicenseFiles | undefined
  /** For how many days usage is kept. */
  keptUsageDays: number
  enforcement: Enforcement
  notify: Notify
  prepareAdministrator: PrepareAdministrator
  /** Makes a tenant's keys and certificates. */
  provision: (tenant: TenantId) => Promise<unknown>
}

export function createTenancy(deps: TenancyDeps) {
  const known = createKnown(deps)
  const rules = createRules(deps)
  const { settings, entitlements, usage, license } = rules
  return {
    ...known,
    createTenant: createFirstTenant(deps),
    enforcesSso: settings.enforcesSso,
    holdEnforcement: settings.holdEnforcement,
    settings: (tenant: TenantId): SecuritySettings | Promise<SecuritySettings> => settings.read(tenant),
    entitlements,
    meter: usage.meter,
    loadLicense: license.load,
    prunes: pruneUsage(deps.keptUsageDays),
    jobs: tenancyJobs({ ...deps, ...known, ...rules }),
    handlers: tenancyHandlers({ ...deps, ...rules }),
  }
}
export type Tenancy = ReturnType<typeof createTenancy>
