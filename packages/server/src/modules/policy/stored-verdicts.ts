import { evaluateVerdict } from '@holdfast/policy'
import { background, type Database } from '../../db/database.ts'
import type { PostureVerdict } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../replication/changes.ts'
import { type Fleet, type FleetDevice, storedReports } from '../devices/index.ts'
import { walkFleet } from './fleet-walk.ts'
import type { PolicyStore } from './store.ts'
import { deviceFactsOf, type TenantPolicy } from './tenant-policy.ts'

/** Devices of one transaction. */
const batch = 500

/**
 * Stored posture verdicts, by which lists find devices. A report stores its verdict. A policy, a change of the channel
 * and time alone turn verdicts without a report: these are written here, in proportion to the devices that turned, and
 * never in the transaction of a publish.
 */
export function createStoredVerdicts({
  db,
  changes,
  fleet,
  store,
  now,
}: {
  db: Database
  changes: Changes
  fleet: Fleet
  store: Pick<PolicyStore, 'at'>
  now: () => Date
}) {
  async function turnedDevices(tenant: TenantId, policy: TenantPolicy): Promise<FleetDevice[]> {
    // Without checks every verdict is unknown, and most tenants have no other one stored.
    if (policy.checks.texts.size === 0) {
      const isAnyKnown = await db.inTenant(tenant, (tx) => storedReports.isAnyVerdictKnown(tx, tenant), background)
      if (!isAnyKnown) return []
    }
    const turned: FleetDevice[] = []
    const atMs = now().getTime()
    const visit = (device: FleetDevice) => {
      if (device.posture && policy.verdictOf(device, atMs) !== device.posture.storedVerdict) turned.push(device)
    }
    await walkFleet(await fleet.all(tenant), visit, 'all')
    return turned.sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
  }

  /** Evaluates the stored reports, which may be newer than those in memory. False if another policy is in force. */
  async function write(tenant: TenantId, policy: TenantPolicy, devices: readonly FleetDevice[]): Promise<boolean> {
    const byId = new Map(devices.map((device) => [device.deviceId, device]))
    const written = await db.inTenant(
      tenant,
      async (tx) => {
        await storedReports.shareVerdicts(tx, tenant)
        const rows = await storedReports.lockReports(tx, tenant, [...byId.keys()])
        if (rows.some((row) => row.newest_policy !== policy.newest)) return undefined
        const atMs = now().getTime()
        const found = rows.map((row) => {
          const device = byId.get(row.device_id)!
          const posture = { facts: row.facts, reported_at: row.reported_at.getTime() }
          const facts = { ...deviceFactsOf(device), posture }
          const { verdict } = evaluateVerdict(policy.compiledFor(device), facts, atMs)
          return { device, verdict, isTurned: verdict !== row.verdict }
        })
        const turned = found.filter(({ isTurned }) => isTurned)
        if (turned.length > 0) await storedReports.setVerdicts(tx, tenant, turned.map(rowOf))
        // A report that was not announced outlasts the one in memory: all replicas read it.
        const outlasting = found.filter(({ device, verdict }) => verdict !== policy.verdictOf(device, atMs))
        if (outlasting.length > 0)
          await changes.record(
            tx,
            tenant,
            outlasting.map(({ device }) => ({ kind: 'device', subject: device.deviceId })),
          )
        return found
      },
      background,
    )
    for (const { device, verdict } of written ?? []) if (device.posture) device.posture.storedVerdict = verdict
    return written !== undefined
  }

  /** Stores the verdicts of all devices of a tenant that turned. Stops if another policy comes into force. */
  return async (tenant: TenantId): Promise<void> => {
    const policy = await store.at(tenant)
    const turned = await turnedDevices(tenant, policy)
    for (let i = 0; i < turned.length; i += batch)
      if (!(await write(tenant, policy, turned.slice(i, i + batch)))) return
  }
}
export type MoveVerdicts = ReturnType<typeof createStoredVerdicts>

const rowOf = ({ device, verdict }: { device: FleetDevice; verdict: PostureVerdict }) => ({
  device_id: device.deviceId,
  verdict,
})
