import type { CountedMetric } from '@holdfast/contract/vocabulary'
import type { Tx } from '../../../db/database.ts'
import type { Source, TenantId } from '../../../kernel/actor.ts'
import type { Allowance, LimitGrant } from '../../../kernel/allowance.ts'
import { fail } from '../../../kernel/app-error.ts'
import { TenantGone } from '../../../kernel/each-tenant.ts'
import { findLicense } from '../license/license.queries.ts'
import { licenseAt } from '../license/standing.ts'
import { type Resolved, resolve } from '../plans/limits.ts'
import * as queries from './entitlement.queries.ts'
import type { TellExceeded } from './exceeded.ts'

const nouns: Record<CountedMetric, string> = {
  users: 'users',
  devices: 'devices',
  gateways: 'gateways',
  sessions: 'VPN sessions',
  api_keys: 'API keys',
}
const granted = {} as LimitGrant
const unlimited: Allowance = { room: () => Number.POSITIVE_INFINITY, take: () => granted, refuse: () => {} }

/**
 * Limits of a tenant. Nothing is cached: they are read in the transaction that adds. So a change of a limit, a plan or
 * the license takes effect with its commit, on every replica.
 */
export function createEntitlements({ now, tellExceeded }: { now: () => Date; tellExceeded: TellExceeded }) {
  /** Throws `TenantGone`. */
  const resolveIn = async (tx: Tx, tenant: TenantId): Promise<Resolved & { plan: string | null }> => {
    const row = await queries.readTerms(tx, tenant)
    if (!row) throw new TenantGone()
    const { plan, plan_limits, plan_features, has_license, claims, seen_at } = row
    const resolved = resolve({
      tenant: row.limits,
      plan: plan === null ? null : { name: plan, limits: plan_limits ?? {}, features: plan_features ?? [] },
      license: has_license ? licenseAt(claims, laterOf(now(), seen_at)) : null,
    })
    return { ...resolved, plan }
  }

  return {
    resolveIn,

    /**
     * Takes the lock of a metric, before every other lock of its transaction except that of a directory. Until commit
     * no other caller adds to the metric, so the remaining room is exact. Without a limit it costs one query and locks
     * nothing. `by`: the actor in the audit event of a refusal.
     */
    hold: async (tx: Tx, tenant: TenantId, metric: CountedMetric, by?: Source): Promise<Allowance> => {
      const { limits, isClosed, licenseState } = await resolveIn(tx, tenant)
      const limit = isClosed ? 0 : limits[metric]
      if (limit === null) return unlimited
      const before = await queries.lockCounter(tx, tenant, metric)
      const used = before + (await queries.movesOf(tx, tenant, metric))
      let taken = 0
      const refuse = (asked: number) => tellExceeded(tenant, by, { metric, used: used + taken, limit, asked })
      return {
        refuse,
        room: () => (isClosed ? 0 : Math.max(0, limit - used - taken)),
        take: (n) => {
          if (n <= 0 || (!isClosed && used + taken + n <= limit)) {
            taken += n
            return granted
          }
          refuse(n)
          if (isClosed)
            return fail('entitlement_exceeded', closed[licenseState === 'required' ? 'required' : 'expired'])
          return fail(
            'entitlement_exceeded',
            `${nouns[metric]}: ${used + taken} of ${limit} are in use, and ${n} more were requested: remove some, or ask for a higher limit`,
          )
        },
      }
    },

    /**
     * Returns the limit of a metric that has no room for one more, to show it, or null if there is room. Locks nothing.
     */
    reachedLimit: async (tx: Tx, tenant: TenantId, metric: CountedMetric): Promise<number | null> => {
      const { limits, isClosed } = await resolveIn(tx, tenant)
      const limit = isClosed ? 0 : limits[metric]
      if (limit === null) return null
      const used = (await queries.usedOf(tx, tenant)).get(metric) ?? 0
      return isClosed || used >= limit ? limit : null
    },

    /** Called in the transaction that makes a tenant. Serializes the count of tenants if the license limits them. */
    admitTenant: async (tx: Tx): Promise<void> => {
      const row = await findLicense(tx)
      if (!row) return
      const { state } = licenseAt(row.claims, laterOf(now(), row.seen_at))
      if (state === 'expired' || state === 'required') fail('entitlement_exceeded', closed[state])
      const limit = row.claims?.limits.tenants ?? null
      if (limit === null) return
      const used = await queries.holdTenantCount(tx)
      if (used >= limit)
        fail(
          'entitlement_exceeded',
          `the license allows ${limit} tenants, and ${used} exist: delete a tenant, or load a license for more tenants`,
        )
    },
  }
}
export type Entitlements = ReturnType<typeof createEntitlements>

const closed = {
  expired:
    'the license of this deployment has expired, so nothing can be added: load a new license with POST /v1/admin/license/reload',
  required:
    'HOLDFAST_LICENSE_FILE has no valid license, so nothing can be added: GET /v1/admin/license/status shows the problem',
}

const laterOf = (a: Date, b: Date): Date => (a > b ? a : b)
