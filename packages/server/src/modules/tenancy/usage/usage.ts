import { usageDays } from '@holdfast/contract/limits'
import { type CountedMetric, countedMetrics } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { day, hour } from '../../../kernel/time.ts'
import type { Entitlements } from '../entitlement/entitlements.ts'
import { gigabyte, isCounted, type MetricStatus, monthOf, readStatus } from '../entitlement/status.ts'
import { daysUntilLimit, slopeOf } from './forecast.ts'
import * as queries from './usage.queries.ts'

type Asked = { from?: string; to?: string; step?: 'hour' | 'day' }
type Peaks = Record<CountedMetric, number>
type UsageStep = { at: Date; rxBytes: number; txBytes: number; sessions: number; peak: Peaks; atEnd: Peaks }

const lengths = { hour, day }
const usualSpanMs = 30 * day

export function createUsage(deps: { db: Database; now: () => Date; entitlements: Pick<Entitlements, 'resolveIn'> }) {
  const { db, now } = deps

  return {
    /**
     * Adds a metering report, in its transaction. A repeated report counts once. A late one counts in the hour in which
     * its interval ended.
     */
    meter: async (
      tx: Tx,
      tenant: TenantId,
      report: {
        gatewayId: string
        intervalStart: Date
        intervalEnd: Date
        rxBytes: number
        txBytes: number
        sessions: number
      },
    ) => {
      const { intervalStart, intervalEnd, ...rest } = report
      if (rest.rxBytes + rest.txBytes + rest.sessions === 0) return
      // An interval that ends at a full hour belongs to the hour before it.
      const last = Math.max(intervalStart.getTime(), intervalEnd.getTime() - 1)
      await queries.addTraffic(tx, tenant, { ...rest, hour: new Date(last - (last % hour)) })
    },

    /** Returns usage and limits of a tenant. */
    standing: async (tenant: TenantId): Promise<readonly MetricStatus[]> =>
      (await db.inTenant(tenant, (tx) => readStatus(tx, tenant, { ...deps, at: now() }))).metrics,

    of: async (tenant: TenantId, asked: Asked) => {
      const at = now()
      const span = spanOf(asked, at)
      const found = await db.inTenant(tenant, async (tx) => {
        return {
          traffic: await queries.trafficBetween(tx, tenant, span),
          levels: await queries.levelsBetween(tx, tenant, span),
          before: await queries.levelsBefore(tx, tenant, span.from),
          status: await readStatus(tx, tenant, { ...deps, at }),
        }
      })
      const series = seriesOf(span, found)
      bringUpToDate(series, found.status.metrics, at)
      const sum = (of: (s: UsageStep) => number) => clamp(series.reduce((n, s) => n + of(s), 0))
      return {
        ...span,
        series,
        totals: { rxBytes: sum((s) => s.rxBytes), txBytes: sum((s) => s.txBytes), sessions: sum((s) => s.sessions) },
        forecast: found.status.metrics.flatMap((m) => forecastOf(m, series, span.step, at)),
      }
    },
  }
}
export type Usage = ReturnType<typeof createUsage>

const clamp = (n: number) => Math.min(n, Number.MAX_SAFE_INTEGER)

function spanOf({ from, to, step = 'day' }: Asked, at: Date) {
  const length = lengths[step]
  const floor = (ms: number) => ms - (ms % length)
  const end = to === undefined ? at.getTime() : Date.parse(to)
  // The last step is always a whole one.
  const toMs = floor(end - 1) + length
  const fromMs = floor(from === undefined ? toMs - usualSpanMs : Date.parse(from))
  if (fromMs >= toMs) failField('from', 'must be before to')
  if (toMs - fromMs > usageDays[step] * day)
    failField('from', `must be at most ${usageDays[step]} days before to with step=${step}`)
  return { from: new Date(fromMs), to: new Date(toMs), step }
}

function seriesOf(
  { from, to, step }: ReturnType<typeof spanOf>,
  found: {
    traffic: Awaited<ReturnType<typeof queries.trafficBetween>>
    levels: Awaited<ReturnType<typeof queries.levelsBetween>>
    before: ReadonlyMap<string, number>
  },
): UsageStep[] {
  const traffic = new Map(found.traffic.map((t) => [t.at.getTime(), t]))
  const levels = Map.groupBy(found.levels, (l) => l.at.getTime())
  const level = Object.fromEntries(countedMetrics.map((m) => [m, found.before.get(m) ?? 0])) as Peaks
  const series: UsageStep[] = []
  for (let ms = from.getTime(); ms < to.getTime(); ms += lengths[step]) {
    const carried = traffic.get(ms)
    // A metric without a change in a step keeps its value.
    const peak = { ...level }
    for (const { metric, peak: its, used } of levels.get(ms) ?? []) {
      if (!isCounted(metric)) continue
      peak[metric] = its
      level[metric] = used
    }
    series.push({
      at: new Date(ms),
      rxBytes: clamp(carried?.rx_bytes ?? 0),
      txBytes: clamp(carried?.tx_bytes ?? 0),
      sessions: carried?.sessions ?? 0,
      peak,
      atEnd: { ...level },
    })
  }
  return series
}

/** Adds moves that are not folded yet to the current step. */
function bringUpToDate(series: readonly UsageStep[], metrics: readonly MetricStatus[], at: Date): void {
  const current = series.findLastIndex((s) => s.at <= at)
  for (const { metric, used } of metrics) {
    if (!isCounted(metric)) continue
    for (const step of current < 0 ? [] : series.slice(current)) {
      step.atEnd[metric] = used
      step.peak[metric] = step === series[current] ? Math.max(step.peak[metric], used) : used
    }
  }
}

/** Returns when a metric reaches its limit if the trend of the series continues. */
function forecastOf(
  { metric, used, limit }: MetricStatus,
  series: readonly UsageStep[],
  step: 'hour' | 'day',
  at: Date,
) {
  if (limit === null) return []
  const monthStart = monthOf(at).getTime()
  const perStep = (s: UsageStep) => (s.rxBytes + s.txBytes) / gigabyte
  const days = (s: UsageStep) => s.at.getTime() / day
  const perDay = isCounted(metric)
    ? (slopeOf(series.map((s) => ({ at: days(s), value: s.atEnd[metric] }))) ?? 0)
    : (series.reduce((n, s) => n + perStep(s), 0) / Math.max(1, series.length)) * (day / lengths[step])
  const left = daysUntilLimit(used, limit, perDay)
  const reachesAt = left === undefined ? null : new Date(at.getTime() + left * day)
  // Traffic is counted from zero in each month.
  const nextMonth = monthOf(new Date(monthStart + 32 * day))
  const isInTime = reachesAt !== null && (isCounted(metric) || reachesAt < nextMonth)
  return [{ metric, used, limit, perDay: Math.round(perDay * 1000) / 1000, reachesAt: isInTime ? reachesAt : null }]
}
