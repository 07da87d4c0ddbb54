import type { GatewaysDeps } from '../deps.ts'
import type { Registry } from '../registry/registry.ts'
import type { Activity } from '../reports/activity.ts'
import { gatewayHealthHandlers } from './health.handlers.ts'
import { createGatewayHealth } from './health.ts'
import { historyHandlers } from './history/history.handlers.ts'
import { pruneGatewayHistory } from './history/history.queries.ts'
import { createHistory } from './history/history.ts'
import { createStateRecorder } from './history/record-states.ts'
import { createImpact } from './impact.ts'

/** Status and problems of gateways, their history, and the devices that they affect. */
export function createFleetHealth(deps: GatewaysDeps & { registry: Registry; activity: Activity }) {
  const health = createGatewayHealth(deps)
  const { handlers, jobs, prunes } = createGatewayHistory(deps)
  return {
    statuses: health.statuses,
    handlers: { ...gatewayHealthHandlers(health, createImpact(deps), deps.now), ...handlers },
    jobs,
    prunes,
  }
}

/** States and session counts of gateways over time. */
const createGatewayHistory = (deps: GatewaysDeps & { registry: Registry; activity: Activity }) => ({
  handlers: historyHandlers(createHistory(deps)),
  jobs: [{ name: 'record_gateway_states', cron: '* * * * *', run: createStateRecorder(deps) }],
  prunes: pruneGatewayHistory,
})
