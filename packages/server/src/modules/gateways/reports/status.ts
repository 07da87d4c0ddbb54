import { minute, second } from '../../../kernel/time.ts'

export type GatewayStatus = 'healthy' | 'degraded' | 'draining' | 'down' | 'never_seen' | 'pending'
/** What of a gateway says how it stands, whatever it reports. */
export type Standing = {
  draining: boolean
  drain_reason: string | null
  public_key: string | null
  proposed_key: string | null
}

export const degradedAfterMs = 30 * second
export const downAfterMs = 60 * second

/** Whether it has not been heard of for longer than a report may be late. */
export const isSilent = (lastSeenMs: number | null, nowMs: number): boolean =>
  lastSeenMs === null || nowMs - lastSeenMs >= degradedAfterMs

/** A gateway that was down is offered behind the others until it has reported for so long, so that nobody flaps. */
export const steadyAfterMs = 5 * minute
/** `upSinceMs`: since when it reports again after it was down; null: it never was. */
export const isSteady = (upSinceMs: number | null, nowMs: number): boolean =>
  upSinceMs === null || nowMs - upSinceMs >= steadyAfterMs

/** What a gateway's silence says, and a sentence why. Draining is an administrator's word and comes before all else. */
export function statusOf(
  gateway: Standing,
  lastSeenMs: number | null,
  nowMs: number,
): { status: GatewayStatus; status_reason: string } {
  const silentMs = lastSeenMs === null ? null : Math.max(0, nowMs - lastSeenMs)
  const heard = silentMs === null ? 'It has never reported.' : `Last report ${Math.floor(silentMs / 1000)} seconds ago.`
  if (gateway.draining) {
    const why = gateway.drain_reason ? `: ${gateway.drain_reason}` : ''
    return { status: 'draining', status_reason: `Taken out of the directory by an administrator${why}. ${heard}` }
  }
  if (gateway.public_key === null && gateway.proposed_key !== null)
    return { status: 'pending', status_reason: `Its key waits for an administrator. ${heard}` }
  if (silentMs === null) return { status: 'never_seen', status_reason: heard }
  if (silentMs >= downAfterMs) return { status: 'down', status_reason: `${heard} A gateway is down after 60 seconds.` }
  if (silentMs >= degradedAfterMs)
    return { status: 'degraded', status_reason: `${heard} A gateway is degraded after 30 seconds.` }
  return { status: 'healthy', status_reason: heard }
}
