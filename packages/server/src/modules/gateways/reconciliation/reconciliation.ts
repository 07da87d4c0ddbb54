import type { GatewaysDeps } from '../deps.ts'
import type { Registry } from '../registry/registry.ts'
import type { Activity } from '../reports/activity.ts'
import { reconciliationHandlers } from './assessments.handlers.ts'
import { createAssessments } from './assessments.ts'
import { pruneClaims } from './claims.queries.ts'
import { createConnections } from './connections.ts'
import { createConnectionJudge } from './judge.ts'

/**
 * Reconciliation of the reports about each connection: shown on request, and assessed when a report or a silence puts
 * the connection in question.
 */
export function createReconciliation(deps: GatewaysDeps & { registry: Registry; activity: Activity }) {
  const connections = createConnections(deps)
  const judge = createConnectionJudge({ ...deps, connections })
  return {
    handlers: reconciliationHandlers(createAssessments({ ...deps, connections })),
    jobs: [{ name: 'judge_connections', cron: '* * * * *', run: judge.sweep }],
    prunes: [pruneClaims],
  }
}
