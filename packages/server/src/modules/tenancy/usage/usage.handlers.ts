import type { Handlers } from '../../../http/handlers.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { tenantOf } from '../tenant-id.ts'
import type { Usage } from './usage.ts'

export const usageHandlers = ({ usage }: { usage: Usage }) =>
  ({
    getUsage: async ({ actor, params, query }) => {
      const id = tenantOf(actor, params.tenant_id)
      const { from, to, step, totals, series, forecast } = await usage.of(id, query)
      return {
        tenant_id: encodeId('tenant', id),
        from: from.toISOString(),
        to: to.toISOString(),
        step,
        totals: { rx_bytes: totals.rxBytes, tx_bytes: totals.txBytes, sessions_started: totals.sessions },
        series: series.map((s) => ({
          at: s.at.toISOString(),
          rx_bytes: s.rxBytes,
          tx_bytes: s.txBytes,
          sessions_started: s.sessions,
          peak: s.peak,
        })),
        forecast: forecast.map((f) => ({
          metric: f.metric,
          used: f.used,
          limit: f.limit,
          per_day: f.perDay,
          reaches_limit_at: f.reachesAt?.toISOString() ?? null,
        })),
      }
    },
  }) satisfies Partial<Handlers>
