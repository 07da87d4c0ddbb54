import type { Contract, Output } from '@holdfast/contract'
import { listedVersions } from '@holdfast/contract/fleet-metrics'
import { background } from '../../db/database.ts'
import { createReadCache } from '../../db/read-cache.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { day, minute } from '../../kernel/time.ts'
import { countVersions } from '../devices/index.ts'
import type { DashboardDeps } from './deps.ts'
import * as queries from './fleet.queries.ts'

type Shown = Output<Contract['readFleetMetrics']>
const freshMs = minute / 2
const atOnce = 1000

/**
 * Devices by platform and version: the current counts, from memory, and one sample per day. A sample is counted by the
 * database, so that it reads no fleet of an idle tenant into memory.
 */
export function createFleetMetrics({
  db,
  now,
  tenants,
  devices,
}: Pick<DashboardDeps, 'db' | 'now' | 'tenants' | 'devices'>) {
  const startOf = (ms: number): Date => new Date(Math.floor(ms / day) * day)
  const current = createReadCache({
    read: async (tenant) => {
      const at = now()
      return { at, versions: await devices.countVersions(tenant, listedVersions) }
    },
    freshMs,
    now,
  })

  return {
    read: async (tenant: TenantId, days: number): Promise<Shown> => {
      const { at, versions } = await current(tenant)
      const from = startOf(now().getTime() - (days - 1) * day)
      const kept = days === 0 ? [] : await db.inTenant(tenant, (tx) => queries.daysSince(tx, tenant, from))
      return {
        at: at.toISOString(),
        ...versions,
        // Only enrollment writes these values, with the same vocabulary.
        platforms: versions.platforms as Shown['platforms'],
        os_versions: versions.os_versions as Shown['os_versions'],
        days: kept.map(({ day: sampled, platforms, client_versions, ...counts }) => ({
          at: sampled.toISOString(),
          ...counts,
          platforms: platforms as Shown['platforms'],
          client_versions: client_versions as Shown['client_versions'],
        })),
      }
    },
    /** The first replica takes the sample of the day. Later runs cost nothing. */
    sample: async (): Promise<void> => {
      const today = startOf(now().getTime())
      const all = await tenants()
      for (let i = 0; i < all.length; i += atOnce) {
        const some = all.slice(i, i + atOnce)
        const missing = await db.acrossTenants((tx) => queries.tenantsWithoutDay(tx, some, today), background)
        await eachTenant(missing, (tenant) =>
          db.inTenant(
            tenant,
            async (tx) => queries.insertDay(tx, tenant, today, await countVersions(tx, tenant, listedVersions)),
            background,
          ),
        )
      }
    },
  }
}
export type FleetMetrics = ReturnType<typeof createFleetMetrics>
