import { background, type Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Feed } from '../../replication/feed.ts'
import type { Fleet } from '../devices/index.ts'
import { walkFleet } from './fleet-walk.ts'
import * as queries from './policy.queries.ts'
import type { PolicyStore } from './store.ts'
import type { MoveVerdicts } from './stored-verdicts.ts'

/** Most devices that one change names. */
const batch = 2000

/**
 * Effects of time alone on devices: the freshness of a report that a check reads ends. Such a device is logged as a
 * change, so that its new variant gets its own sequence number and gateways are notified. The freshness is that of the
 * policy in force now, not of the one when the report arrived.
 */
export function createReportQueue({
  db,
  changes,
  feed,
  fleet,
  store,
  moveVerdicts,
  now,
}: {
  db: Database
  changes: Changes
  feed: Pick<Feed, 'momentOf'>
  fleet: Fleet
  store: PolicyStore
  moveVerdicts: MoveVerdicts
  now: () => Date
}) {
  const gathering = new Map<TenantId, { ids: Set<string>; logged: Promise<void> }>()

  async function log(tenant: TenantId, ids: readonly string[]): Promise<void> {
    for (let i = 0; i < ids.length; i += batch) {
      const part = ids.slice(i, i + batch).map((subject) => ({ kind: 'device' as const, subject }))
      await db.inTenant(tenant, (tx) => changes.record(tx, tenant, part))
    }
  }

  /** Returns the devices whose selection, as of the tenant's newest change, has expired. */
  async function overdue(tenant: TenantId): Promise<string[]> {
    const policy = await store.at(tenant)
    if (!policy.isTimed) return []
    const found: string[] = []
    const { atMs } = feed.momentOf(tenant)
    const nowMs = now().getTime()
    await walkFleet(await fleet.all(tenant), (device) => {
      if (device.posture && policy.selectedOf(device, atMs).until <= nowMs) found.push(device.deviceId)
    })
    return found
  }

  return {
    /** Logs that the selection of a device has expired. Devices of one turn of the event loop share a change. */
    take: (tenant: TenantId, deviceId: string): Promise<void> => {
      const known = gathering.get(tenant)
      if (known) {
        known.ids.add(deviceId)
        return known.logged
      }
      const ids = new Set([deviceId])
      const logged = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        gathering.delete(tenant)
        return log(tenant, [...ids])
      })
      gathering.set(tenant, { ids, logged })
      return logged
    },
    /**
     * Logs all expired devices of all tenants, because a device that does not poll must reach the gateways too. Then
     * stores the verdicts that turned.
     */
    sweep: async (): Promise<void> => {
      const tenants = await db.acrossTenants((tx) => queries.tenantsWithReports(tx), background)
      await eachTenant(tenants, async (tenant) => {
        await log(tenant, await overdue(tenant))
        await moveVerdicts(tenant)
      })
    },
  }
}
export type ReportQueue = ReturnType<typeof createReportQueue>
