import type { GatewaysDeps } from './deps.ts'
import { createFleetHealth } from './health/fleet-health.ts'
import { createReconciliation } from './reconciliation/reconciliation.ts'
import { createConfirmations } from './registry/confirmed.ts'
import { createSecretExpiries } from './registry/expiries.ts'
import { gatewayHandlers } from './registry/gateways.handlers.ts'
import { createGatewayRules } from './registry/gateways.ts'
import { createIdentities } from './registry/identity.ts'
import { poolHandlers } from './registry/pools.handlers.ts'
import { createPools } from './registry/pools.ts'
import { createRegistry } from './registry/registry.ts'
import { createGatewayHits } from './registry/search-hits.ts'
import { pruneSecrets } from './registry/secrets.queries.ts'
import { createGatewaySecrets } from './registry/secrets.ts'
import { createGatewayActivity } from './reports/activity.ts'
import { pruneHistory } from './reports/history.queries.ts'
import { createMetering } from './reports/metering.ts'
import { reportHandlers } from './reports/reports.handlers.ts'
import { vpnSessionHandlers } from './reports/sessions.handlers.ts'
import { createVpnSessions } from './reports/sessions.ts'
import { createTelemetry } from './reports/telemetry.ts'
import { createPull } from './sync/pull.ts'

export type { GatewaysDeps } from './deps.ts'
export { enforcedBy } from './registry/confirmed.queries.ts'
export type { Confirmations } from './registry/confirmed.ts'
export { trustCoverageOfGateways } from './registry/gateways.queries.ts'
export { keysOfGateways } from './registry/identity.queries.ts'
export * as reported from './reports/reported.queries.ts'
export type { SnapshotSize } from './sync/chunk.ts'

/** Gateways: pools, secrets, sessions, metering and unified policy. */
export function createGateways(deps: GatewaysDeps) {
  const registry = createRegistry(deps)
  const activity = createGatewayActivity(deps)
  const secrets = createGatewaySecrets({ ...deps, registry })
  const sessions = createVpnSessions(deps)
  const { endVpnSessions, endSessionsAt, blockedUntil, sessionLimitFor } = sessions
  const reportDeps = { ...deps, registry, activity }
  const { handlers: pulls, ...pulling } = createPull(reportDeps)
  const [reconciliation, health] = [createReconciliation(reportDeps), createFleetHealth(reportDeps)]
  const judging = [...reconciliation.jobs, ...health.jobs]

  return {
    handlers: {
      ...pulls,
      ...poolHandlers(createPools(deps)),
      ...gatewayHandlers(createGatewayRules({ ...reportDeps, secrets }), createIdentities(deps), deps),
      ...reportHandlers({
        ...reportDeps,
        metering: createMetering(reportDeps),
        telemetry: createTelemetry(reportDeps),
      }),
      ...vpnSessionHandlers(sessions),
      ...reconciliation.handlers,
      ...health.handlers,
    },
    /** Verifies gateway credentials, for the request pipeline. */
    verifyGateway: secrets.verify,
    service: secrets.service,
    endVpnSessions,
    endSessionsAt,
    blockedUntil,
    sessionLimitFor,
    confirmations: createConfirmations(deps),
    silentGateways: activity.silent,
    statuses: health.statuses,
    secretExpiries: createSecretExpiries(deps),
    jobs: [{ name: 'end_silent_vpn_sessions', cron: '* * * * *', run: sessions.endSilent }, ...judging],
    prunes: [pruneSecrets, ...pruneHistory, ...reconciliation.prunes, ...health.prunes],
    ...pulling,
    ...createGatewayHits(reportDeps),
  }
}
export type Gateways = ReturnType<typeof createGateways>
