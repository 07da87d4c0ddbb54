import { type EffectiveStatus, effectiveStatuses } from '@holdfast/contract/devices'
import type { DeviceStatus, PostureVerdict } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { createSlices } from '../../kernel/time-slice.ts'
import type { Fleet } from './fleet.ts'
import type { FleetDevice } from './fleet-device.ts'
import type { FleetVersions } from './versions.queries.ts'

export type DeviceCounts = {
  status: Record<DeviceStatus, number>
  effective_status: Record<EffectiveStatus, number>
  posture: Record<PostureVerdict, number>
}
/** Returns a function that evaluates the posture verdict of a device at a time (ms). Provided by the policy module. */
export type VerdictsOf = (tenant: TenantId) => Promise<(device: FleetDevice, atMs: number) => PostureVerdict>
/** Devices counted between two reads of the clock. */
const between = 256

/** Counts the devices in memory. Revoked devices are not there, so their count is 0. */
export const createDeviceCounts =
  ({ fleet, verdicts, now }: { fleet: Fleet; verdicts: VerdictsOf; now: () => Date }) =>
  async (tenant: TenantId): Promise<DeviceCounts> => {
    const status = { pending: 0, active: 0, suspended: 0, revoked: 0 }
    const none = Object.fromEntries(effectiveStatuses.map((name) => [name, 0]))
    const effective_status = none as DeviceCounts['effective_status']
    const at = now().getTime()
    const posture = { compliant: 0, non_compliant: 0, unknown: 0 }
    const slices = createSlices()
    let examined = 0
    const verdictOf = await verdicts(tenant)
    for (const device of (await fleet.all(tenant)).values()) {
      status[device.status]++
      effective_status[device.effectiveStatusAt(at)]++
      posture[verdictOf(device, at)]++
      if (++examined % between === 0 && slices.isOver()) await slices.next()
    }
    return { status, effective_status, posture }
  }

type Counts<T> = Map<T, number>
const addTo = <T>(counts: Counts<T>, value: T) => counts.set(value, (counts.get(value) ?? 0) + 1)

type Counted = { platform: string; version: string | null; devices: number }
const text = ({ platform, version }: Counted) => `${platform} ${version ?? '\u{10ffff}'}`
/** The highest counts first, those that are equal by their names. */
const inOrder = (all: readonly Counted[], most: number): Counted[] =>
  all.toSorted((a, b) => b.devices - a.devices || (text(a) < text(b) ? -1 : 1)).slice(0, most)

/**
 * Devices by platform, client version and system, from memory, where those that are revoked are not. `countVersions`
 * says the same from the database, where it reads all of them.
 */
export const createFleetVersions =
  ({ fleet }: { fleet: Pick<Fleet, 'all'> }) =>
  async (tenant: TenantId, most: number): Promise<FleetVersions> => {
    const clients: Counts<string | null> = new Map()
    const systems = new Map<string, Counts<string | null>>()
    const all = await fleet.all(tenant)
    const slices = createSlices()
    let devices = 0
    for (const { platform, clientVersion, osVersion } of all.values()) {
      addTo(clients, clientVersion)
      const ofPlatform = systems.get(platform) ?? new Map()
      systems.set(platform, addTo(ofPlatform, osVersion))
      if (++devices % between === 0 && slices.isOver()) await slices.next()
    }
    const bySystem = [...systems].flatMap(([platform, counts]) =>
      [...counts].map(([version, n]) => ({ platform, version, devices: n })),
    )
    const byPlatform = [...systems].map(([platform, counts]) => ({
      platform,
      version: null,
      devices: [...counts.values()].reduce((sum, n) => sum + n, 0),
    }))
    const byClient = [...clients].map(([version, n]) => ({ platform: '', version, devices: n }))
    const others = (listed: readonly Counted[]) => devices - listed.reduce((sum, each) => sum + each.devices, 0)
    const [listedClients, listedSystems] = [inOrder(byClient, most), inOrder(bySystem, most)]
    return {
      devices,
      platforms: inOrder(byPlatform, most).map(({ platform, devices: n }) => ({ platform, devices: n })),
      client_versions: listedClients.map((each) => ({ client_version: each.version, devices: each.devices })),
      other_client_versions: others(listedClients),
      os_versions: listedSystems.map(({ platform, version, devices: n }) => ({
        platform,
        os_version: version,
        devices: n,
      })),
      other_os_versions: others(listedSystems),
    }
  }
