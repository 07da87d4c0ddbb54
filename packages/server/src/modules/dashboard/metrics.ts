import type { Contract, Output } from '@holdfast/contract'
import type { TenantId } from '../../kernel/actor.ts'
import type { DashboardDeps } from './deps.ts'

type Metrics = Output<Contract['readMetrics']>
type Asked = { from?: string; to?: string; step?: 'hour' | 'day' }

/** Time series for charts: traffic and sessions from metering, and event counts from the audit log. */
export const createMetrics =
  ({ tenancy, audit }: Pick<DashboardDeps, 'tenancy' | 'audit'>) =>
  async (tenant: TenantId, asked: Asked): Promise<Metrics> => {
    const { from, to, step, series } = await tenancy.usageOf(tenant, asked)
    const counts = await audit.countsBetween(tenant, { from, to, step })
    const countsAt = new Map(counts.map(({ at, ...count }) => [at.getTime(), count]))
    return {
      from: from.toISOString(),
      to: to.toISOString(),
      step,
      series: series.map(({ at, rxBytes, txBytes, sessions, peak }) => ({
        at: at.toISOString(),
        rx_bytes: rxBytes,
        tx_bytes: txBytes,
        sessions_started: sessions,
        sessions: peak.sessions,
        ...(countsAt.get(at.getTime()) ?? none),
      })),
    }
  }
export type ReadMetrics = ReturnType<typeof createMetrics>

const none = { enrollments: 0, logins_failed: 0, refused: 0 }
