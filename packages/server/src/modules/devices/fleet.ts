import { background, type Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { type Idle, type Memory, tenantCache } from '../../replication/tenant-cache.ts'
import * as queries from './fleet.queries.ts'
import type { FleetDevice } from './fleet-device.ts'
import { FleetTenant } from './fleet-tenant.ts'
import type { ReportedChecks } from './held-reports.ts'

const page = 5000
const first = '00000000-0000-0000-0000-000000000000'

/**
 * In-memory fleet: the data that decides about every device of a tenant. It is loaded once and kept current by the
 * change log, so that a warm poll, a publication and a gateway's delta need no database. A changed device is read
 * again, in a batch with others, before any caller sees it. Devices that are missing here are revoked or were never
 * enrolled.
 */
export function createFleet({
  db,
  changes,
  feed,
  checks,
  idle,
}: {
  db: Database
  /** Checks of the tenant's policies in force. Provided by the policy module. */
  checks: (tenant: TenantId) => Promise<ReportedChecks>
  idle: Idle
} & Memory) {
  const onDrop: ((tenant: TenantId) => void)[] = []
  const tenants = tenantCache<FleetTenant>(
    { changes, feed },
    {
      stage: 'fleet',
      kinds: ['device', 'user', 'policy'],
      load,
      idle,
      patch: (tenant, list) => tenant.touch(list),
      onDrop: ({ tenantId }) => {
        for (const f of onDrop) f(tenantId)
      },
    },
  )

  async function inPages<K extends string, R extends Record<K, string>>(
    key: K,
    read: (after: string) => Promise<R[]>,
    visit: (row: R) => void,
  ): Promise<void> {
    for (let after = first; ; ) {
      const rows = await read(after)
      for (const row of rows) visit(row)
      if (rows.length < page) return
      after = rows.at(-1)![key]
    }
  }

  async function load(tenantId: TenantId): Promise<FleetTenant> {
    const tenant = new FleetTenant(tenantId)
    tenant.reports.settle(await checks(tenantId), tenant.reports.touches)
    const names = [...tenant.reports.facts]
    await inPages(
      'user_id',
      (after) => db.inTenant(tenantId, (tx) => queries.usersAfter(tx, tenantId, after, page), background),
      (row) => tenant.putUser(row),
    )
    await inPages(
      'device_id',
      (after) => db.inTenant(tenantId, (tx) => queries.devicesAfter(tx, tenantId, names, after, page), background),
      (row) => tenant.putDevice(row),
    )
    tenant.dropIdleUsers()
    return tenant
  }

  /** Reads stale entries until none is left. */
  async function refresh(tenant: FleetTenant): Promise<void> {
    while (!tenant.isTrue) await (tenant.reports.areTrue ? refreshStale(tenant) : refreshReports(tenant))
  }
  async function refreshStale(tenant: FleetTenant): Promise<void> {
    const { tenantId, stale, reports } = tenant
    const [users, devices] = [[...stale.users.keys()], [...stale.devices.keys()]]
    if (users.length + devices.length === 0) return
    const [names, { touches }] = [[...reports.facts], reports]
    const [userRows, deviceRows] = await db.inTenant(tenantId, async (tx) => [
      users.length > 0 ? await queries.usersById(tx, tenantId, users) : [],
      devices.length > 0 ? await queries.devicesById(tx, tenantId, names, devices) : [],
    ])
    tenant.settle(stale, userRows, deviceRows)
    reports.took(devices, touches)
    tenant.stepped()
  }
  /**
   * After a policy change: reads unannounced reports again, unless all checks of the policy were in force before. Reads
   * all reports if the policy needs a fact that is not in memory.
   */
  async function refreshReports(tenant: FleetTenant): Promise<void> {
    const { reports } = tenant
    const { touches } = reports
    const requiredChecks = await checks(tenant.tenantId)
    if (reports.isGoodFor(requiredChecks) || (await readReports(tenant, requiredChecks, touches)))
      reports.settle(requiredChecks, touches)
  }
  /** Reads the reports that an unpublished policy would need. */
  async function tryReports(tenant: FleetTenant, requiredChecks: ReportedChecks): Promise<void> {
    const { reports } = tenant
    if (reports.isTriedFor(requiredChecks, performance.now())) return
    if (await readReports(tenant, requiredChecks, reports.touches)) reports.try(requiredChecks, performance.now())
  }
  /**
   * Reads stale devices between the pages, for callers that wait for single ones. False if the policy changed again,
   * which ends the read.
   */
  async function readReports(tenant: FleetTenant, requiredChecks: ReportedChecks, touches: number): Promise<boolean> {
    const { tenantId, reports } = tenant
    const which = reports.begin(requiredChecks, touches)
    const facts = [...reports.facts]
    await inPages(
      'device_id',
      async (after) => {
        await refreshStale(tenant)
        if (reports.touches !== touches) return []
        return db.inTenant(
          tenantId,
          (tx) => queries.posturesAfter(tx, tenantId, { facts, which }, after, page),
          background,
        )
      },
      (row) => tenant.devices.get(row.device_id)?.takeReport(tenant.postureOf(row), row.seq),
    )
    return reports.touches === touches
  }

  /** Starts a refresh unless one is running. */
  function startRefresh(tenant: FleetTenant, requiredChecks?: ReportedChecks): Promise<void> {
    if (tenant.refreshing) return tenant.refreshing
    const read = async () => {
      try {
        await refresh(tenant)
        if (requiredChecks) await tryReports(tenant, requiredChecks)
        await refresh(tenant)
        tenant.refreshing = undefined
        tenant.stepped()
      } catch (e) {
        tenant.refreshing = undefined
        tenant.stepped(e)
        throw e
      }
    }
    tenant.refreshing = read()
    // Callers that wait for a single device get the error from `stepped`.
    tenant.refreshing.catch(() => {})
    return tenant.refreshing
  }
  /** Returns the tenant once nothing in it is stale. */
  async function settled(
    found: FleetTenant | Promise<FleetTenant>,
    requiredChecks?: ReportedChecks,
  ): Promise<FleetTenant> {
    const tenant = await found
    const isIn = () =>
      tenant.isTrue && (!requiredChecks || tenant.reports.isTriedFor(requiredChecks, performance.now()))
    while (!isIn()) await startRefresh(tenant, requiredChecks)
    return tenant
  }
  /** Returns a device once it is not stale. */
  async function settledDevice(found: FleetTenant | Promise<FleetTenant>, deviceId: string) {
    const tenant = await found
    for (;;) {
      const device = tenant.devices.get(deviceId)
      if (tenant.isTrueOf(deviceId, device)) return device
      const step = tenant.ask(deviceId)
      const all = startRefresh(tenant)
      await (step ?? all)
    }
  }

  return {
    /** Number of tenants in memory. */
    held: tenants.size,
    /**
     * Registers a callback that runs when a tenant is dropped from memory, together with data kept with its devices.
     */
    onDrop: (f: (tenant: TenantId) => void): void => {
      onDrop.push(f)
    },
    /** Current as of the last applied change. Synchronous if the device is in memory and current. */
    device: (tenantId: TenantId, deviceId: string): FleetDevice | undefined | Promise<FleetDevice | undefined> => {
      const tenant = tenants.get(tenantId)
      if (!(tenant instanceof Promise)) {
        const device = tenant.devices.get(deviceId)
        if (tenant.isTrueOf(deviceId, device)) return device
      }
      return settledDevice(tenant, deviceId)
    },
    /** All devices. `wanted`: checks of an unpublished policy, for which the reports must be good enough too. */
    all: async (tenantId: TenantId, requiredChecks?: ReportedChecks): Promise<ReadonlyMap<string, FleetDevice>> =>
      (await settled(tenants.get(tenantId), requiredChecks)).devices,
    devicesOfUser: async (tenantId: TenantId, userId: string) =>
      (await settled(tenants.get(tenantId))).devicesOfUser(userId),
    devicesOfGroup: async (tenantId: TenantId, groupId: string) => {
      const t = await settled(tenants.get(tenantId))
      return [...t.devices.values()].filter((d) => d.groupIds.includes(groupId)).map((d) => d.deviceId)
    },
  }
}
export type Fleet = ReturnType<typeof createFleet>
