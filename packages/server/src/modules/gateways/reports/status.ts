import { second } from '../../../kernel/time.ts'

type GatewayStatus = 'healthy' | 'degraded' | 'draining' | 'down' | 'never_seen'

const degradedAfterMs = 30 * second
export const downAfterMs = 60 * second

/** What a gateway's silence says, and a sentence why. Draining is an administrator's word and comes before all else. */
export function statusOf(
  gateway: { draining: boolean; drain_reason: string | null },
  lastSeenMs: number | null,
  nowMs: number,
): { status: GatewayStatus; status_reason: string } {
  const silentMs = lastSeenMs === null ? null : Math.max(0, nowMs - lastSeenMs)
  const heard = silentMs === null ? 'It has never reported.' : `Last report ${Math.floor(silentMs / 1000)} seconds ago.`
  if (gateway.draining) {
    const why = gateway.drain_reason ? `: ${gateway.drain_reason}` : ''
    return { status: 'draining', status_reason: `Taken out of the directory by an administrator${why}. ${heard}` }
  }
  if (silentMs === null) return { status: 'never_seen', status_reason: heard }
  if (silentMs >= downAfterMs) return { status: 'down', status_reason: `${heard} A gateway is down after 60 seconds.` }
  if (silentMs >= degradedAfterMs)
    return { status: 'degraded', status_reason: `${heard} A gateway is degraded after 30 seconds.` }
  return { status: 'healthy', status_reason: heard }
}
