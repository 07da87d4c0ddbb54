import type { Handlers } from '../../http/handlers.ts'
import { versioned } from '../../kernel/version.ts'
import type { ReadMetrics } from './metrics.ts'
import type { ReadOverview } from './overview.ts'

export const dashboardHandlers = ({
  readOverview,
  readMetrics,
}: {
  readOverview: ReadOverview
  readMetrics: ReadMetrics
}) =>
  ({
    // Nothing of it can be set, so its tag names what is shown alone.
    dashboardOverview: async ({ actor }) => versioned(null, await readOverview(actor.tenantId)),
    readMetrics: ({ actor, query }) => readMetrics(actor.tenantId, query),
  }) satisfies Partial<Handlers>
