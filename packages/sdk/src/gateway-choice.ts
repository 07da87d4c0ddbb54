import { createHash } from 'node:crypto'
import type { DirectoryGateway, DirectoryPool } from './directory-verifier.ts'

/** Degrees; of the device. */
export type Position = { lat: number; lon: number }
export type GatewayChoice = { pool: DirectoryPool; gateway: DirectoryGateway }

/**
 * The gateway that a device connects to. It stays with the one it has for as long as that is offered, so that nobody
 * fails back and forth; otherwise it goes to the nearest pool, where it says where it is, and there to a gateway that
 * is not standing by. Which of several is the same at each call: in proportion to their weights, and when one leaves
 * only its devices move (rendezvous hashing with weights). Undefined: nothing is offered.
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
  // All stand by after the control plane itself was away: devices spread over the best of them, which come first.
  const best = serving.length > 0 ? serving : pool.gateways.filter((g) => g.status === pool.gateways[0]?.status)
  const gateway = byWeight(best, deviceId)
  return gateway && { pool, gateway }
}

/** Who draws the most: -weight / ln(u), with u in (0, 1) of the two ids. A weight of 0 is drawn only among its like. */
function byWeight(gateways: readonly DirectoryGateway[], deviceId: string): DirectoryGateway | undefined {
  const draw = ({ gateway_id, weight }: DirectoryGateway) => {
    const bits = createHash('sha256').update(`${gateway_id}\n${deviceId}`).digest().readUIntBE(0, 6)
    const u = (bits + 1) / (2 ** 48 + 1)
    return weight === 0 ? u - 1 : -weight / Math.log(u)
  }
  const drawn = gateways.map((gateway) => ({ gateway, at: draw(gateway) }))
  return drawn.toSorted((a, b) => b.at - a.at)[0]?.gateway
}

/** On the sphere, in radians; of a region without a place as far as can be. */
function distance({ region: { lat, lon } }: DirectoryPool, from: Position): number {
  if (lat === undefined || lon === undefined) return Number.POSITIVE_INFINITY
  const radians = (degrees: number) => (degrees * Math.PI) / 180
  const half = (a: number, b: number) => Math.sin(radians(a - b) / 2) ** 2
  const haversine = half(lat, from.lat) + Math.cos(radians(lat)) * Math.cos(radians(from.lat)) * half(lon, from.lon)
  return 2 * Math.asin(Math.min(1, Math.sqrt(haversine)))
}
