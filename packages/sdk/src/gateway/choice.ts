import { createHash } from 'node:crypto'
import type { DirectoryGateway, DirectoryPool } from '../verify/directory-verifier.ts'

/** Position of the device, in degrees. */
export type Position = { lat: number; lon: number }
export type GatewayChoice = { pool: DirectoryPool; gateway: DirectoryGateway }

/**
 * Chooses the gateway for a device. It keeps the current one while that is offered, so that devices do not switch back
 * and forth. Otherwise it takes the nearest pool, if the position is given, and there a gateway that is not on standby.
 * The choice among several is stable: in proportion to their weights, and if one is removed only its devices move
 * (weighted rendezvous hashing). Returns undefined if no gateway is offered.
 */
export function chooseGateway(
  pools: readonly DirectoryPool[],
  { deviceId, current, position }: { deviceId: string; current?: string | undefined; position?: Position | undefined },
): GatewayChoice | undefined {
  for (const pool of pools) {
    const gateway = pool.gateways.find((g) => g.gateway_id === current)
    if (gateway) return { pool, gateway }
  }
  const offering = pools.filter((pool) => pool.gateways.length > 0)
  const nearest = position ? offering.toSorted((a, b) => distance(a, position) - distance(b, position)) : offering
  const pool = nearest.find((p) => p.gateways.some((g) => !g.standby)) ?? nearest[0]
  if (!pool) return undefined
  const serving = pool.gateways.filter((g) => !g.standby)
  // All are on standby after an outage of the control plane: devices spread over the best ones, which come first.
  const best = serving.length > 0 ? serving : pool.gateways.filter((g) => g.status === pool.gateways[0]?.status)
  const gateway = byWeight(best, deviceId)
  return gateway && { pool, gateway }
}

/**
 * Returns the gateway with the highest draw: -weight / ln(u), with u in (0, 1) from the two ids. A weight of 0 is
 * chosen only if all others have it too.
 */
function byWeight(gateways: readonly DirectoryGateway[], deviceId: string): DirectoryGateway | undefined {
  const draw = ({ gateway_id, weight }: DirectoryGateway) => {
    const bits = createHash('sha256').update(`${gateway_id}\n${deviceId}`).digest().readUIntBE(0, 6)
    const u = (bits + 1) / (2 ** 48 + 1)
    return weight === 0 ? u - 1 : -weight / Math.log(u)
  }
  const drawn = gateways.map((gateway) => ({ gateway, at: draw(gateway) }))
  return drawn.toSorted((a, b) => b.at - a.at)[0]?.gateway
}

/** Great-circle distance in radians; infinite for a region without a position. */
function distance({ region: { lat, lon } }: DirectoryPool, from: Position): number {
  if (lat === undefined || lon === undefined) return Number.POSITIVE_INFINITY
  const radians = (degrees: number) => (degrees * Math.PI) / 180
  const half = (a: number, b: number) => Math.sin(radians(a - b) / 2) ** 2
  const haversine = half(lat, from.lat) + Math.cos(radians(lat)) * Math.cos(radians(from.lat)) * half(lon, from.lon)
  return 2 * Math.asin(Math.min(1, Math.sqrt(haversine)))
}
