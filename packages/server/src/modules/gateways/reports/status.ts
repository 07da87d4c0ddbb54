import { gatewaySilence, steadyMinutes } from '@holdfast/contract/limits'
import { minute, second } from '../../../kernel/time.ts'

export type GatewayStatus = 'healthy' | 'degraded' | 'draining' | 'down' | 'never_seen' | 'pending'
/** Stored fields that determine a gateway's status, apart from its reports. */
export type ReportedState = {
  draining: boolean
  drain_reason: string | null
  public_key: string | null
  proposed_key: string | null
}

export const degradedAfterMs = gatewaySilence.degradedSeconds * second
export const downAfterMs = gatewaySilence.downSeconds * second

/** True if the last report is older than a report may be late. */
export const isSilent = (lastSeenMs: number | null, nowMs: number): boolean =>
  lastSeenMs === null || nowMs - lastSeenMs >= degradedAfterMs

/** Time for which a gateway that was down is offered after the others, so that devices do not flap. */
export const steadyAfterMs = steadyMinutes * minute
/** `upSinceMs`: time since when the gateway reports again after being down; null if it never was down. */
export const isSteady = (upSinceMs: number | null, nowMs: number): boolean =>
  upSinceMs === null || nowMs - upSinceMs >= steadyAfterMs

/** Returns the status and a sentence that explains it. Draining, set by an administrator, comes first. */
export function gatewayStatusOf(
  gateway: ReportedState,
  lastSeenMs: number | null,
  nowMs: number,
): { status: GatewayStatus; status_reason: string } {
  const silentMs = lastSeenMs === null ? null : Math.max(0, nowMs - lastSeenMs)
  const lastReport =
    silentMs === null ? 'It has never reported.' : `Its last report was ${Math.floor(silentMs / 1000)} seconds ago.`
  if (gateway.draining) {
    const why = gateway.drain_reason ? `: ${gateway.drain_reason}` : ''
    return { status: 'draining', status_reason: `An administrator is draining it${why}. ${lastReport}` }
  }
  if (gateway.public_key === null && gateway.proposed_key !== null)
    return { status: 'pending', status_reason: `Its key waits for approval by an administrator. ${lastReport}` }
  if (silentMs === null) return { status: 'never_seen', status_reason: lastReport }
  if (silentMs >= downAfterMs)
    return {
      status: 'down',
      status_reason: `${lastReport} A gateway is down after ${gatewaySilence.downSeconds} seconds.`,
    }
  if (silentMs >= degradedAfterMs)
    return {
      status: 'degraded',
      status_reason: `${lastReport} A gateway is degraded after ${gatewaySilence.degradedSeconds} seconds.`,
    }
  return { status: 'healthy', status_reason: lastReport }
}
