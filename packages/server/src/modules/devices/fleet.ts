import { background, type Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { held, type Idle, type Memory } from '../../memory/held.ts'
import * as queries from './fleet.queries.ts'
import type { FleetDevice } from './fleet-device.ts'
import { FleetTenant } from './fleet-tenant.ts'
import type { Checks } from './held-reports.ts'

const page = 5000
const first = '00000000-0000-0000-0000-000000000000'

/**
 * The fleet in memory: what decides about every device of a tenant, read once and kept true by the change log, so that
 * a warm poll, a publish and a gateway's delta ask no database. A touched device is read again, together with others
 * touched meanwhile, before anyone sees it. A device that is not here is none: revoked or never enrolled.
 */
export function createFleet({
  db,
  changes,
  feed,
  checks,
  idle,
}: {
  db: Database
  /** The checks of the tenant's policies in force. Given by the policy module. */
  checks: (tenant: TenantId) => Promise<Checks>
  idle: Idle
} & Memory) {
  const onDrop: ((tenant: TenantId) => void)[] = []
  const tenants = held<FleetTenant>(
    { changes, feed },
    {
      ...{ stage: 'fleet', kinds: ['device', 'user', 'policy'], load, idle },
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

  /** Reads what is stale until nothing is. */
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
   * The policy changed: unless all of its checks held before, the reports that nobody was told of are read again, or
   * all of them where it reads a fact that is not held.
   */
  async function refreshReports(tenant: FleetTenant): Promise<void> {
    const { reports } = tenant
    const { touches } = reports
    const wanted = await checks(tenant.tenantId)
    if (reports.isGoodFor(wanted) || (await readReports(tenant, wanted, touches))) reports.settle(wanted, touches)
  }
  /** What a policy that is not published would be told of reports. */
  async function tryReports(tenant: FleetTenant, wanted: Checks): Promise<void> {
    const { reports } = tenant
    if (reports.isTriedFor(wanted, performance.now())) return
    if (await readReports(tenant, wanted, reports.touches)) reports.try(wanted, performance.now())
  }
  /** Between two pages comes whoever is asked for. False: the policy changed again, which ends it. */
  async function readReports(tenant: FleetTenant, wanted: Checks, touches: number): Promise<boolean> {
    const { tenantId, reports } = tenant
    const which = reports.begin(wanted, touches)
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

  /** Begins to read what is not true, where nobody has. */
  function startRefresh(tenant: FleetTenant, wanted?: Checks): Promise<void> {
    if (tenant.refreshing) return tenant.refreshing
    const read = async () => {
      try {
        await refresh(tenant)
        if (wanted) await tryReports(tenant, wanted)
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
    // Whoever waits for one device hears of a failure by the step.
    tenant.refreshing.catch(() => {})
    return tenant.refreshing
  }
  /** The tenant with nothing stale in it. */
  async function settled(found: FleetTenant | Promise<FleetTenant>, wanted?: Checks): Promise<FleetTenant> {
    const tenant = await found
    const isIn = () => tenant.isTrue && (!wanted || tenant.reports.isTriedFor(wanted, performance.now()))
    while (!isIn()) await startRefresh(tenant, wanted)
    return tenant
  }
  /** One device, when nothing of it is stale. */
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
    /** How many tenants are held. */
    held: tenants.size,
    /** Runs when a tenant is held no longer: what was kept with its devices goes with them. */
    onDrop: (f: (tenant: TenantId) => void): void => {
      onDrop.push(f)
    },
    /** True as of the last applied change; at once where it is held and proven. */
    device: (tenantId: TenantId, deviceId: string): FleetDevice | undefined | Promise<FleetDevice | undefined> => {
      const tenant = tenants.get(tenantId)
      if (!(tenant instanceof Promise)) {
        const device = tenant.devices.get(deviceId)
        if (tenant.isTrueOf(deviceId, device)) return device
      }
      return settledDevice(tenant, deviceId)
    },
    /** All of them; `wanted` are the checks of a policy that is not published, for which they shall be good too. */
    all: async (tenantId: TenantId, wanted?: Checks): Promise<ReadonlyMap<string, FleetDevice>> =>
      (await settled(tenants.get(tenantId), wanted)).devices,
    devicesOfUser: async (tenantId: TenantId, userId: string) =>
      (await settled(tenants.get(tenantId))).devicesOfUser(userId),
    devicesOfGroup: async (tenantId: TenantId, groupId: string) => {
      const t = await settled(tenants.get(tenantId))
      return [...t.devices.values()].filter((d) => d.groupIds.includes(groupId)).map((d) => d.deviceId)
    },
  }
}
export type Fleet = ReturnType<typeof createFleet>
