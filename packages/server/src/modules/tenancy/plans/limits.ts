import {
  type CountedMetric,
  type EntitlementMetric,
  entitlementMetrics,
  type LicenseState,
} from '@holdfast/contract/vocabulary'
import type { StoredLimits } from '../../../db/tables/tenancy.ts'

/** Inputs that determine a tenant's limits. `license` null: the community license, which limits nothing. */
type Terms = {
  plan: { name: string; limits: StoredLimits; features: readonly string[] } | null
  tenant: StoredLimits
  license: License | null
}
export type License = {
  state: LicenseState
  edition: string
  limits: StoredLimits
  features: readonly string[]
  endsAt: Date | null
}

type Source = 'license' | 'plan' | 'tenant' | 'none'
export type Resolved = {
  limits: Record<EntitlementMetric, number | null>
  sources: Record<EntitlementMetric, Source>
  features: readonly string[]
  edition: string
  licenseState: LicenseState
  /** Nothing can be added, whatever the limits: the license has ended, or is required and was never loaded. */
  isClosed: boolean
}

/** Returns limits as they are stored: a metric without a limit is left out. */
export const withoutNulls = (limits: StoredLimits): StoredLimits =>
  Object.fromEntries(Object.entries(limits).filter(([, limit]) => typeof limit === 'number'))

/** Returns for each metric the lowest limit of license, plan and tenant; null if there is none. */
export function resolve({ plan, tenant, license }: Terms): Resolved {
  const given: readonly (readonly [Source, StoredLimits])[] = [
    ['license', license?.limits ?? {}],
    ['plan', plan?.limits ?? {}],
    ['tenant', tenant],
  ]
  const limits = {} as Resolved['limits']
  const sources = {} as Resolved['sources']
  for (const metric of entitlementMetrics) {
    limits[metric] = null
    sources[metric] = 'none'
    for (const [source, its] of given) {
      const limit = its[metric] ?? null
      if (limit === null || (limits[metric] !== null && limits[metric] <= limit)) continue
      limits[metric] = limit
      sources[metric] = source
    }
  }
  const licenseState = license?.state ?? 'active'
  return {
    limits,
    sources,
    features: featuresOf(plan, license),
    edition: license?.edition ?? 'community',
    licenseState,
    isClosed: licenseState === 'expired' || licenseState === 'required',
  }
}

/** A plan grants no feature that the license lacks. */
function featuresOf(plan: Terms['plan'], license: License | null): readonly string[] {
  if (!license) return plan?.features ?? []
  return plan ? plan.features.filter((f) => license.features.includes(f)) : license.features
}

export type LimitState = 'ok' | 'approaching' | 'at_limit' | 'over'
const approachingFrom = 0.8

export function stateOf(used: number, limit: number | null): LimitState {
  if (limit === null) return 'ok'
  if (used > limit) return 'over'
  if (used === limit) return 'at_limit'
  return used >= limit * approachingFrom ? 'approaching' : 'ok'
}

/** True if nothing can be added to a metric. */
export const isAtLimit = ({ isClosed, limits }: Resolved, metric: CountedMetric, used: number): boolean =>
  isClosed || (limits[metric] !== null && used >= limits[metric])

/** Name of each metric at the beginning of a sentence. */
export const spokenOf: Record<EntitlementMetric, string> = {
  users: 'Users',
  devices: 'Devices',
  gateways: 'Gateways',
  sessions: 'VPN sessions',
  api_keys: 'API keys',
  bandwidth_gb_month: 'GB this month',
}
