import type { Contract, Output } from '@holdfast/contract'
import { countedUpTo } from '@holdfast/contract/dashboard'
import { createReadCache } from '../../db/read-cache.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { hour, minute, second } from '../../kernel/time.ts'
import { countRevoked } from '../devices/index.ts'
import { enforcedBy } from '../gateways/index.ts'
import { countSuspended } from '../identity/index.ts'
import { countOpenNotifications } from '../notifications/index.ts'
import { usedOf } from '../tenancy/index.ts'
import type { DashboardDeps } from './deps.ts'
import type { ReadMetrics } from './metrics.ts'
import { adoptionBy } from './pending-adoption.ts'

type Overview = Output<Contract['dashboardOverview']>

/** Maximum age of each part, in ms: counts of the current state, policy adoption, hourly values. */
const freshMs = { standing: 2 * second, adoption: 15 * second, hourly: minute }
const mostEnding = 5

/**
 * The overview consists of parts, each read at most once in its time for all viewers of a tenant. No request reads the
 * devices, audit log or sessions of a large tenant by itself.
 */
export function createOverview(deps: DashboardDeps & { readMetrics: ReadMetrics }) {
  const { db, now, devices, gateways, policy, expiry, tenancy, readMetrics } = deps

  /** Reads from the database in one transaction, while memory is counted. */
  async function readStanding(tenant: TenantId) {
    const [{ status, effective_status, posture }, byStatus, { used, revoked, suspended, alerts }] = await Promise.all([
      devices.count(tenant),
      gateways.statuses(tenant),
      db.inTenant(tenant, async (tx) => ({
        used: await usedOf(tx, tenant),
        revoked: await countRevoked(tx, tenant, countedUpTo),
        suspended: await countSuspended(tx, tenant, countedUpTo),
        alerts: await countOpenNotifications(tx, tenant, countedUpTo),
      })),
    ])
    return {
      devices: { status: { ...status, revoked }, effective_status: { ...effective_status, revoked }, posture },
      users: { active: used.get('users') ?? 0, suspended },
      gateways: { status: byStatus },
      sessions: { active: used.get('sessions') ?? 0 },
      alerts,
    } satisfies Partial<Overview>
  }

  async function readAdoption(tenant: TenantId) {
    const [found, enforced] = await Promise.all([
      policy.current(tenant),
      db.inTenant(tenant, (tx) => enforcedBy(tx, tenant)),
    ])
    return {
      policy: found.map(({ bundle: { published_at, seq, bundle_id: _, ...bundle }, reach }) => {
        const { applied, pending } = adoptionBy(enforced, seq)
        return {
          ...bundle,
          published_at: published_at.toISOString(),
          devices: { applied: reach.applied, pending: reach.pending },
          gateways: { applied, pending: pending.length },
        }
      }),
    } satisfies Partial<Overview>
  }

  async function readHourly(tenant: TenantId) {
    const from = new Date(now().getTime() - 23 * hour).toISOString()
    const [{ ok: _, ...expiring }, { series }, used] = await Promise.all([
      expiry.soonest(tenant, mostEnding),
      readMetrics(tenant, { from, step: 'hour' }),
      tenancy.usageNow(tenant),
    ])
    return {
      logins: { failed_24h: series.reduce((n, s) => n + s.logins_failed, 0) },
      expiring,
      usage: used.map(({ metric, used, limit, state }) => ({ metric, used, limit, state })),
      series,
    } satisfies Partial<Overview>
  }

  const standing = createReadCache({ read: readStanding, freshMs: freshMs.standing, now })
  const adoption = createReadCache({ read: readAdoption, freshMs: freshMs.adoption, now })
  const hourly = createReadCache({ read: readHourly, freshMs: freshMs.hourly, now })
  return async (tenant: TenantId): Promise<Overview> => {
    const parts = await Promise.all([standing(tenant), adoption(tenant), hourly(tenant)])
    return { ...parts[0], ...parts[1], ...parts[2] }
  }
}
export type ReadOverview = ReturnType<typeof createOverview>
