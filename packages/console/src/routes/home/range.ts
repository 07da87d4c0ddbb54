import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'

export const ranges = ['24h', '7d', '30d'] as const
export type Range = (typeof ranges)[number]
export type Metrics = OutputOf<'GET /v1/admin/metrics'>

const hourMs = 3_600_000
const hours: Readonly<Record<Range, number>> = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }

/** The beginning of a range, at a full hour, so that one key of the cache serves a whole hour. */
const startOf = (range: Range) =>
  new Date(Math.floor(Date.now() / hourMs) * hourMs - hours[range] * hourMs).toISOString()

/** Sums by the hour over a range; by day over 30 days. */
export const useMetrics = (range: Range) =>
  useApi(
    'GET /v1/admin/metrics',
    { query: { from: startOf(range), step: range === '30d' ? 'day' : 'hour' } },
    { everyMs: 60_000, keepsLast: true },
  )
