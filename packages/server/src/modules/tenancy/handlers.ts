import type { TenancyDeps } from './deps.ts'
import { entitlementHandlers } from './entitlement/entitlement.handlers.ts'
import { licenseHandlers } from './license/license.handlers.ts'
import { planHandlers } from './plans/plans.handlers.ts'
import type { TenancyRules } from './rules.ts'
import { settingsHandlers } from './settings/settings.handlers.ts'
import { tenantHandlers } from './tenants/tenants.handlers.ts'
import { usageHandlers } from './usage/usage.handlers.ts'

export const tenancyHandlers = (deps: TenancyDeps & TenancyRules) => ({
  ...settingsHandlers(deps),
  ...tenantHandlers(deps),
  ...planHandlers(deps),
  ...entitlementHandlers(deps),
  ...usageHandlers(deps),
  ...licenseHandlers(deps),
})
