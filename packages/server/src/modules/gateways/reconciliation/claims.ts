import type { TenantId } from '../../../kernel/actor.ts'
import type { TelemetryEvent } from '../reports/telemetry.queries.ts'
import type { ConnectionClaim } from './claims.queries.ts'

type Said = { tenantId: TenantId; at: Date; events: readonly TelemetryEvent[]; gateways: ReadonlyMap<string, unknown> }

/**
 * Returns one claim for each connection, from its newest event. `gatewayOf`: gateway of a session, if it is one of the
 * device's. An event without session and gateway gives no claim.
 */
export function connectionClaimsOf(
  deviceEvents: readonly Said[],
  gatewayOf: (e: TelemetryEvent) => string | undefined,
): ConnectionClaim[] {
  const newest = new Map<string, ConnectionClaim>()
  for (const { tenantId, at: now, events, gateways } of deviceEvents)
    for (const e of events) {
      if (e.kind === 'policy_applied' || (e.sessionId === null && e.gatewayId === null)) continue
      const knownGatewayId = e.gatewayId !== null && gateways.has(e.gatewayId) ? e.gatewayId : null
      const claim: ConnectionClaim = {
        tenantId,
        deviceId: e.deviceId,
        gatewayId: knownGatewayId ?? gatewayOf(e) ?? null,
        sessionId: e.sessionId,
        state: e.kind === 'disconnected' || e.kind === 'failed' ? 'disconnected' : 'connected',
        // A time in the future, from a clock that is ahead, counts as now.
        at: e.at < now ? e.at : now,
        policyDigest: e.policyDigest,
        latencyMs: e.latencyMs,
        reason: e.reason,
      }
      const key = `${claim.deviceId}|${claim.gatewayId}`
      const before = newest.get(key)
      if (!before || before.at <= claim.at) newest.set(key, claim)
    }
  return [...newest.values()]
}
