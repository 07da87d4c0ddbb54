import type { GatewaysDeps } from './deps.ts'
import { createDeltas } from './pull/delta.ts'
import { createDirectory } from './pull/directory.ts'
import { createPeers } from './pull/peers.ts'
import { pullHandlers } from './pull/pull.handlers.ts'
import { createSnapshots } from './pull/snapshots.ts'
import { createUnifiedPolicy } from './pull/unified-policy.ts'
import { createWaiters } from './pull/waiters.ts'
import { gatewayHandlers } from './registry/gateways.handlers.ts'
import { createGatewayRules } from './registry/gateways.ts'
import { poolHandlers } from './registry/pools.handlers.ts'
import { createPools } from './registry/pools.ts'
import { createRegistry } from './registry/registry.ts'
import { createSecrets } from './registry/secrets.ts'
import { createActivity } from './reports/activity.ts'
import { createMetering } from './reports/metering.ts'
import { reportHandlers } from './reports/reports.handlers.ts'
import { sessionHandlers } from './reports/sessions.handlers.ts'
import { createSessions } from './reports/sessions.ts'
import { createTelemetry } from './reports/telemetry.ts'

export type { GatewaysDeps } from './deps.ts'
export type { SnapshotSize } from './pull/chunk.ts'

/** Gateways, what they must enforce and what they report: pools, secrets, sessions, metering, unified policy. */
export function createGateways(deps: GatewaysDeps) {
  const registry = createRegistry(deps)
  const activity = createActivity(deps)
  const secrets = createSecrets({ ...deps, registry })
  const gateways = createGatewayRules({ ...deps, secrets })
  const sessions = createSessions(deps)
  const waiters = createWaiters({ changes: deps.changes, max: 20_000, gatherMs: 20 })
  const directory = createDirectory({ ...deps, registry, activity })
  const deltas = createDeltas(deps)
  const snapshots = createSnapshots({ ...deps, deltas, size: deps.snapshotSize })
  const unified = createUnifiedPolicy({ ...deps, registry, waiters, deltas, peers: createPeers(deps), snapshots })
  const metering = createMetering({ ...deps, activity })

  return {
    handlers: {
      ...poolHandlers(createPools(deps)),
      ...gatewayHandlers(gateways, deps),
      ...pullHandlers({ ...deps, directory, unified }),
      ...reportHandlers({ ...deps, registry, activity, metering, telemetry: createTelemetry(deps) }),
      ...sessionHandlers(sessions),
    },
    /** For the pipe's table of verifiers. */
    verifyGateway: secrets.verify,
    service: secrets.service,
    /** Ends the VPN sessions of devices or users in the transaction that stops them. */
    endSessionsOf: sessions.endSessionsOf,
    /** Jobs: safe to run at any time, on any replica. */
    endSilentSessions: sessions.endSilent,
    forgetExpiredSecrets: secrets.forgetExpired,
    gatewaysDown: activity.down,
    /** Requests held for a change. */
    waiting: waiters.count,
    /** Answers every held request. */
    stop: waiters.stop,
  }
}
export type Gateways = ReturnType<typeof createGateways>
