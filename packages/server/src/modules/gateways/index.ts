import type { GatewaysDeps } from './deps.ts'
import { createPull } from './pull/pull.ts'
import { createSecretExpiries } from './registry/expiries.ts'
import { gatewayHandlers } from './registry/gateways.handlers.ts'
import { createGatewayRules } from './registry/gateways.ts'
import { createIdentities } from './registry/identity.ts'
import { poolHandlers } from './registry/pools.handlers.ts'
import { createPools } from './registry/pools.ts'
import { createRegistry } from './registry/registry.ts'
import { pruneSecrets } from './registry/secrets.queries.ts'
import { createSecrets } from './registry/secrets.ts'
import { createActivity } from './reports/activity.ts'
import { pruneHistory } from './reports/history.queries.ts'
import { createMetering } from './reports/metering.ts'
import { reportHandlers } from './reports/reports.handlers.ts'
import { sessionHandlers } from './reports/sessions.handlers.ts'
import { createSessions } from './reports/sessions.ts'
import { createStanding } from './reports/standing.ts'
import { createTelemetry } from './reports/telemetry.ts'

export type { GatewaysDeps } from './deps.ts'
export type { SnapshotSize } from './pull/chunk.ts'
export { trustCoverageOfGateways } from './registry/gateways.queries.ts'

/** Gateways, what they must enforce and what they report: pools, secrets, sessions, metering, unified policy. */
export function createGateways(deps: GatewaysDeps) {
  const registry = createRegistry(deps)
  const activity = createActivity(deps)
  const secrets = createSecrets({ ...deps, registry })
  const gateways = createGatewayRules({ ...deps, secrets })
  const sessions = createSessions(deps)
  const { handlers: pulls, waiting, devicesWaiting, isAwaited, stop } = createPull({ ...deps, registry, activity })
  const metering = createMetering({ ...deps, activity })

  return {
    handlers: {
      ...poolHandlers(createPools(deps)),
      ...gatewayHandlers(gateways, createIdentities(deps), deps),
      ...pulls,
      ...reportHandlers({ ...deps, registry, activity, metering, telemetry: createTelemetry(deps) }),
      ...sessionHandlers(sessions),
    },
    /** For the pipe's table of verifiers. */
    verifyGateway: secrets.verify,
    service: secrets.service,
    /** Ends the VPN sessions of devices or users in the transaction that stops them. */
    endSessionsOf: sessions.endSessionsOf,
    gatewaysDown: activity.down,
    standing: createStanding({ ...deps, registry, activity }),
    secretExpiries: createSecretExpiries(deps),
    jobs: [{ name: 'end_silent_vpn_sessions', cron: '* * * * *', run: sessions.endSilent }],
    prunes: [pruneSecrets, ...pruneHistory],
    waiting,
    devicesWaiting,
    isAwaited,
    stop,
  }
}
export type Gateways = ReturnType<typeof createGateways>
