import type { TenancyDeps } from './deps.ts'
import { createAlerts } from './entitlement/alerts.ts'
import { createCounters } from './entitlement/counters.ts'
import { createEntitlements } from './entitlement/entitlements.ts'
import { createExceeded } from './entitlement/exceeded.ts'
import { createLicense } from './license/license.ts'
import { createTenantPlans } from './plans/plans.ts'
import { createDismissedSteps } from './settings/dismissed-steps.ts'
import { createEnrollmentSettings } from './settings/enrollment.ts'
import { createSettings } from './settings/settings.ts'
import { createTenantLifecycle } from './tenants/lifecycle.ts'
import { createUsage } from './usage/usage.ts'

/** The rules of this module, made once. */
export function createTenancyRules(deps: TenancyDeps) {
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
export type TenancyRules = ReturnType<typeof createTenancyRules>
