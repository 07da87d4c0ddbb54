import { background, type Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Change, Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import * as queries from './fleet.queries.ts'
import { type FleetDevice, FleetTenant } from './fleet-tenant.ts'

const chunk = 5000

type Held = {
  tenant: FleetTenant
  /** Devices and users that a change touched and that were not read since. */
  staleDevices: Set<string>
  staleUsers: Set<string>
  loading: Promise<void> | undefined
}

/**
 * The fleet in memory: what decides about every device of a tenant, read once and kept true by the change log, so that
 * a warm poll, a publish and a gateway's delta ask no database. A touched device is read again, together with others
 * touched meanwhile, before anyone sees it.
 */
export function createFleet({ db, changes, feed }: { db: Database; changes: Changes; feed: Feed }) {
  const held = new Map<TenantId, Held>()

  const onChange = (tenantId: TenantId, list: readonly Change[]) => {
    const h = held.get(tenantId)
    if (!h) return
    for (const { kind, subject } of list) {
      if (kind === 'device') h.staleDevices.add(subject)
      else if (kind === 'user') {
        h.staleUsers.add(subject)
        for (const id of h.tenant.devicesOfUser(subject)) h.staleDevices.add(id)
      } else if (kind === 'group')
        for (const user of h.tenant.usersOfGroup(subject)) {
          h.staleUsers.add(user)
          for (const id of h.tenant.devicesOfUser(user)) h.staleDevices.add(id)
        }
    }
  }
  changes.listen('fleet', {
    changed: onChange,
    forgotten: (tenant) => (tenant === undefined ? held.clear() : held.delete(tenant)),
  })

  async function loadAll(h: Held): Promise<void> {
    const { tenantId } = h.tenant
    const seq = feed.seqOf(tenantId)
    for (const user of await db.inTenant(tenantId, (tx) => queries.usersWithGroups(tx, tenantId, null), background))
      h.tenant.putUser(user)
    for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
      const rows = await db.inTenant(tenantId, (tx) => queries.devicesAfter(tx, tenantId, after, chunk), background)
      for (const row of rows) h.tenant.putDevice(row, seq)
      if (rows.length < chunk) return
      after = rows.at(-1)!.device_id
    }
  }

  /** Reads what is stale until nothing is. A change that arrives meanwhile makes its subject stale again. */
  async function refresh(h: Held): Promise<void> {
    const { tenantId } = h.tenant
    while (h.staleDevices.size > 0 || h.staleUsers.size > 0) {
      const devices = [...h.staleDevices]
      const users = [...h.staleUsers]
      h.staleDevices.clear()
      h.staleUsers.clear()
      const seq = feed.seqOf(tenantId)
      try {
        const [userRows, deviceRows] = await db.inTenant(tenantId, async (tx) => [
          users.length > 0 ? await queries.usersWithGroups(tx, tenantId, users) : [],
          await queries.devicesById(tx, tenantId, devices),
        ])
        for (const row of userRows) h.tenant.putUser(row)
        for (const row of deviceRows) h.tenant.putDevice(row, seq)
        await readMissingUsers(h, deviceRows, seq)
      } catch (e) {
        for (const id of devices) h.staleDevices.add(id)
        for (const id of users) h.staleUsers.add(id)
        throw e
      }
    }
  }

  /** A device's user may be one that no change named, when it was created before its first device. */
  async function readMissingUsers(h: Held, rows: queries.FleetRow[], seq: number): Promise<void> {
    const missing = rows.filter((r) => r.user_id !== null && !h.tenant.knowsUser(r.user_id))
    if (missing.length === 0) return
    const { tenantId } = h.tenant
    const ids = [...new Set(missing.map((r) => r.user_id!))]
    for (const user of await db.inTenant(tenantId, (tx) => queries.usersWithGroups(tx, tenantId, ids)))
      h.tenant.putUser(user)
    for (const row of missing) h.tenant.putDevice(row, seq)
  }

  function settle(h: Held, work: (h: Held) => Promise<void>): Promise<void> {
    h.loading ??= work(h).finally(() => {
      h.loading = undefined
    })
    return h.loading
  }

  /** The tenant with nothing stale in it. */
  async function settled(tenantId: TenantId): Promise<FleetTenant> {
    let h = held.get(tenantId)
    if (!h) {
      h = { tenant: new FleetTenant(tenantId), staleDevices: new Set(), staleUsers: new Set(), loading: undefined }
      held.set(tenantId, h)
      await settle(h, loadAll).catch((e) => {
        held.delete(tenantId)
        throw e
      })
    }
    if (!feed.isFresh()) await feed.catchUp()
    while (h.loading || h.staleDevices.size > 0 || h.staleUsers.size > 0) await settle(h, refresh)
    return h.tenant
  }

  const device = (tenantId: TenantId, deviceId: string): FleetDevice | undefined | Promise<FleetDevice | undefined> => {
    const h = held.get(tenantId)
    if (h && !h.loading && feed.isFresh() && !h.staleDevices.has(deviceId)) return h.tenant.devices.get(deviceId)
    return settled(tenantId).then((t) => t.devices.get(deviceId))
  }

  return {
    /** True as of the last applied change; asks the database while memory is not proven fresh. */
    device,
    all: async (tenantId: TenantId): Promise<ReadonlyMap<string, FleetDevice>> => (await settled(tenantId)).devices,
    devicesOfUser: async (tenantId: TenantId, userId: string) => (await settled(tenantId)).devicesOfUser(userId),
    devicesOfGroup: async (tenantId: TenantId, groupId: string) => {
      const t = await settled(tenantId)
      return [...t.devices.values()].filter((d) => d.groupIds.includes(groupId)).map((d) => d.deviceId)
    },
  }
}
export type Fleet = ReturnType<typeof createFleet>
