import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'

export const ranges = ['24h', '7d', '30d'] as const
export type Range = (typeof ranges)[number]
export type Metrics = OutputOf<'GET /v1/admin/metrics'>

const hourMs = 3_600_000
const hours: Readonly<Record<Range, number>> = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }

/** Returns the start of a range, rounded to a full hour, so that the cache key stays the same for an hour. */
const startOf = (range: Range) =>
  new Date(Math.floor(Date.now() / hourMs) * hourMs - hours[range] * hourMs).toISOString()

/** Reads sums over a range by hour; by day for 30 days. */
export const useMetrics = (range: Range) =>
  useApi(
    'GET /v1/admin/metrics',
    { query: { from: startOf(range), step: range === '30d' ? 'day' : 'hour' } },
    { everyMs: 60_000, keepsLast: true },
  )
