import type { Handlers } from '../../http/handlers.ts'
import { idOf } from '../../kernel/ids.ts'
import { versioned } from '../../kernel/version.ts'
import type { Adoption } from './adoption.ts'
import type { FleetMetrics } from './fleet.ts'
import type { ReadMetrics } from './metrics.ts'
import type { ReadOverview } from './overview.ts'
import type { ListPendingAdoption } from './pending-adoption.ts'
import type { StartOfTenant } from './start.ts'

export const dashboardHandlers = ({
  readOverview,
  readMetrics,
  listPending,
  adoption,
  fleetMetrics,
  start,
}: {
  readOverview: ReadOverview
  readMetrics: ReadMetrics
  listPending: ListPendingAdoption
  adoption: Adoption
  fleetMetrics: FleetMetrics
  start: StartOfTenant
}) =>
  ({
    // Nothing here can be modified, so the ETag depends only on the content.
    dashboardOverview: async ({ actor }) => versioned(null, await readOverview(actor.tenantId)),
    listPendingAdoption: ({ actor, params, query }) =>
      listPending(actor.tenantId, idOf('policy_bundle', params.bundle_id), query),
    getPolicyAdoption: ({ actor, params }) => adoption.read(actor.tenantId, idOf('policy_bundle', params.bundle_id)),
    readFleetMetrics: ({ actor, query: { days = 30 } }) => fleetMetrics.read(actor.tenantId, days),
    getStart: async ({ actor }) => versioned(null, await start.read(actor)),
    dismissStartStep: ({ actor, body: { step, dismissed = true } }) => start.dismiss(actor, step, dismissed),
    readMetrics: ({ actor, query }) => readMetrics(actor.tenantId, query),
  }) satisfies Partial<Handlers>
