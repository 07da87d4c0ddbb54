import type { TenancyDeps } from './deps.ts'
import { createAlerts } from './entitlement/alerts.ts'
import { createCounters } from './entitlement/counters.ts'
import { createEntitlements } from './entitlement/entitlements.ts'
import { createExceeded } from './entitlement/exceeded.ts'
import { createLicense } from './license/license.ts'
import { createPlans } from './plans/plans.ts'
import { createDismissedSteps } from './settings/dismissed-steps.ts'
import { createEnrollmentSettings } from './settings/enrollment.ts'
import { createSettings } from './settings/settings.ts'
import { createLifecycle } from './tenants/lifecycle.ts'
import { createUsage } from './usage/usage.ts'

/** The rules of this module, made once. */
export function createRules(deps: TenancyDeps) {
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
    lifecycle: createLifecycle({ ...deps, entitlements }),
    plans: createPlans(deps),
    usage: createUsage({ ...deps, entitlements }),
  }
}
export type Rules = ReturnType<typeof createRules>
