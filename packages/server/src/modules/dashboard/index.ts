import { dashboardHandlers } from './dashboard.handlers.ts'
import type { DashboardDeps } from './deps.ts'
import { createMetrics } from './metrics.ts'
import { createOverview } from './overview.ts'
import { createPendingAdoption } from './pending-adoption.ts'
import { createStart } from './start.ts'

/** How the fleet of a tenant stands, at a glance and over time. */
export function createDashboard(deps: DashboardDeps) {
  const readMetrics = createMetrics(deps)
  const readOverview = createOverview({ ...deps, readMetrics })
  return {
    handlers: dashboardHandlers({
      ...{ readMetrics, readOverview, listPending: createPendingAdoption(deps) },
      start: createStart(deps),
    }),
  }
}
