import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { hour } from '../../../kernel/time.ts'
import type { GatewayReport, SessionPeak } from './activity.queries.ts'

type Written = { hourMs: number; sessions: number }

/**
 * Returns the reports that raise the maximum of sessions of their hour, as far as this replica has written it. Most do
 * not, and cost no query. A forgotten peak is written again, which changes nothing.
 */
export function createSessionPeaks() {
  const byGateway = new BoundedMap<string, Written>(50_000)
  return {
    risen: (reports: readonly GatewayReport[]): SessionPeak[] =>
      reports.flatMap(({ tenantId, gatewayId, at, activeSessions: sessions }) => {
        if (sessions === null) return []
        const hourMs = Math.floor(at.getTime() / hour) * hour
        const known = byGateway.get(gatewayId)
        const isRisen = known?.hourMs !== hourMs || known.sessions < sessions
        return isRisen ? [{ tenantId, gatewayId, hour: new Date(hourMs), sessions }] : []
      }),
    /** Called once the peaks are durable. */
    written: (peaks: readonly SessionPeak[]): void => {
      for (const { gatewayId, hour: at, sessions } of peaks)
        byGateway.set(gatewayId, { hourMs: at.getTime(), sessions })
    },
  }
}
