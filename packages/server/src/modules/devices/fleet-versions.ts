import type { TenantId } from '../../kernel/actor.ts'
import { createSlices } from '../../kernel/time-slice.ts'
import type { Fleet } from './fleet.ts'
import type { FleetVersions } from './versions.queries.ts'

/** The clock is read once for so many devices. */
const between = 256

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
