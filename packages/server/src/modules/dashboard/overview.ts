import type { Contract, Output } from '@holdfast/contract'
import { countedUpTo } from '@holdfast/contract/dashboard'
import type { TenantId } from '../../kernel/actor.ts'
import { hour, minute, second } from '../../kernel/time.ts'
import type { DashboardDeps } from './deps.ts'
import type { ReadMetrics } from './metrics.ts'
import { createRecent } from './recent.ts'

type Overview = Output<Contract['dashboardOverview']>

/** What is counted in memory and by counters; what every device says that it applies; what moves by the hour. */
const freshMs = { standing: 2 * second, adoption: 15 * second, hourly: minute }
const mostEnding = 5

/**
 * What is shown is put together of parts, each of which is read at most once in its time for all who look at a tenant:
 * nobody's request reads the devices, the record or the sessions of a large tenant.
 */
export function createOverview(deps: DashboardDeps & { readMetrics: ReadMetrics }) {
  const { now, devices, identity, gateways, policy, notifications, expiry, tenancy, readMetrics } = deps

  async function readStanding(tenant: TenantId) {
    const counted = await tenancy.counted(tenant)
    return {
      devices: await devices.count(tenant, countedUpTo),
      users: { active: counted.get('users') ?? 0, suspended: await identity.countSuspended(tenant, countedUpTo) },
      gateways: { status: await gateways.statuses(tenant) },
      sessions: { active: counted.get('sessions') ?? 0 },
      alerts: await notifications.countOpen(tenant, countedUpTo),
    } satisfies Partial<Overview>
  }

  async function readAdoption(tenant: TenantId) {
    const found = await policy.current(tenant)
    return {
      policy: found.map(({ bundle: { published_at, ...bundle }, reach: { applied, pending } }) => ({
        ...bundle,
        published_at: published_at.toISOString(),
        devices: { applied, pending },
      })),
    } satisfies Partial<Overview>
  }

  async function readHourly(tenant: TenantId) {
    const { ok: _, ...expiring } = await expiry.soonest(tenant, mostEnding)
    const from = new Date(now().getTime() - 23 * hour).toISOString()
    const { series } = await readMetrics(tenant, { from, step: 'hour' })
    const used = await tenancy.usageNow(tenant)
    return {
      logins: { failed_24h: series.reduce((n, s) => n + s.logins_failed, 0) },
      expiring,
      usage: used.map(({ metric, used, limit, state }) => ({ metric, used, limit, state })),
      series,
    } satisfies Partial<Overview>
  }

  const standing = createRecent({ read: readStanding, freshMs: freshMs.standing, now })
  const adoption = createRecent({ read: readAdoption, freshMs: freshMs.adoption, now })
  const hourly = createRecent({ read: readHourly, freshMs: freshMs.hourly, now })
  return async (tenant: TenantId): Promise<Overview> => {
    const parts = await Promise.all([standing(tenant), adoption(tenant), hourly(tenant)])
    return { ...parts[0], ...parts[1], ...parts[2] }
  }
}
export type ReadOverview = ReturnType<typeof createOverview>
