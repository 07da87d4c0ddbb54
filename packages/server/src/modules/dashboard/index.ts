import { pruneAdoption } from './adoption.queries.ts'
import { createAdoption } from './adoption.ts'
import { dashboardHandlers } from './dashboard.handlers.ts'
import type { DashboardDeps } from './deps.ts'
import { pruneDays } from './fleet.queries.ts'
import { createFleetMetrics } from './fleet.ts'
import { createMetrics } from './metrics.ts'
import { createOverview } from './overview.ts'
import { createPendingAdoption } from './pending-adoption.ts'
import { createStart } from './start.ts'

/** State of a tenant's fleet, current and over time. */
export function createDashboard(deps: DashboardDeps) {
  const readMetrics = createMetrics(deps)
  const readOverview = createOverview({ ...deps, readMetrics })
  const [adoption, fleetMetrics] = [createAdoption(deps), createFleetMetrics(deps)]
  const [listPending, start] = [createPendingAdoption(deps), createStart(deps)]
  return {
    handlers: dashboardHandlers({ readMetrics, readOverview, listPending, adoption, fleetMetrics, start }),
    jobs: [
      { name: 'sample_adoption', cron: '* * * * *', run: adoption.sweep },
      { name: 'sample_fleet', cron: '45 * * * *', run: fleetMetrics.sample },
    ],
    prunes: [pruneDays, pruneAdoption],
  }
}
