import {
  type CountedMetric,
  countedMetrics,
  type EntitlementMetric,
  entitlementMetrics,
} from '@holdfast/contract/vocabulary'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { isAtLimit, type LimitState, type Resolved, stateOf } from '../plans/limits.ts'
import { carriedSince, usedOf } from './entitlement.queries.ts'
import type { Entitlements } from './entitlements.ts'

export const gigabyte = 1e9
export type MetricStatus = {
  metric: EntitlementMetric
  used: number
  limit: number | null
  state: LimitState
  enforcement: 'hard' | 'soft'
}
type Status = { resolved: Resolved; metrics: MetricStatus[]; blocked: CountedMetric[] }

/** Returns the start of the calendar month (UTC) that contains a time. */
export const monthOf = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1))
export const isCounted = (metric: string): metric is CountedMetric =>
  (countedMetrics as readonly string[]).includes(metric)

/** Returns usage and limits of a tenant, in one transaction. */
export async function readStatus(
  tx: Tx,
  tenant: TenantId,
  { entitlements, at }: { entitlements: Pick<Entitlements, 'resolveIn'>; at: Date },
): Promise<Status> {
  const resolved = await entitlements.resolveIn(tx, tenant)
  const counted = await usedOf(tx, tenant)
  const gigabytes = Math.round((await carriedSince(tx, tenant, monthOf(at))) / (gigabyte / 1000)) / 1000
  const metrics = entitlementMetrics.map((metric): MetricStatus => {
    const limit = resolved.limits[metric]
    const used = isCounted(metric) ? (counted.get(metric) ?? 0) : gigabytes
    return { metric, used, limit, state: stateOf(used, limit), enforcement: isCounted(metric) ? 'hard' : 'soft' }
  })
  const blocked = countedMetrics.filter((metric) => isAtLimit(resolved, metric, counted.get(metric) ?? 0))
  return { resolved, metrics, blocked }
}
