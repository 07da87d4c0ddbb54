import type { GatewaysDeps } from '../../deps.ts'
import type { Registry } from '../../registry/registry.ts'
import type { Activity } from '../../reports/activity.ts'
import { historyHandlers } from './history.handlers.ts'
import { pruneGatewayHistory } from './history.queries.ts'
import { createHistory } from './history.ts'
import { createStateRecorder } from './record-states.ts'

/** States and session counts of gateways over time. */
export const createGatewayHistory = (deps: GatewaysDeps & { registry: Registry; activity: Activity }) => ({
  handlers: historyHandlers(createHistory(deps)),
  jobs: [{ name: 'record_gateway_states', cron: '* * * * *', run: createStateRecorder(deps) }],
  prunes: pruneGatewayHistory,
})
