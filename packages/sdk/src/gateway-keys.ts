import type { GatewayState } from './gateway-state.ts'

/** A peer's addresses belong to another of its keys now: its allowed IPs move from the one to the other. */
export type AddressMove = { device_id: string; from: string; to: string; addresses: readonly string[] }

/**
 * Which key of a peer its addresses are at. A device that renews with another WireGuard key is named with both; the older
 * one keeps the addresses until the first handshake with the newer, or its own end, and never gets them back.
 */
export function createTunnelKeys(state: () => GatewayState | null) {
  /** Of peers with several keys, the one that took the addresses. */
  const taken = new Map<string, string>()
  let sweepAt = 64

  const keysOf = (deviceId: string): string[] =>
    state()
      ?.peers.get(deviceId)
      ?.wireguard_keys.map(({ key }) => key) ?? []

  function carrierOf(deviceId: string): string | null {
    const keys = keysOf(deviceId)
    const own = taken.get(deviceId)
    return own !== undefined && keys.includes(own) ? own : (keys.at(-1) ?? null)
  }

  function sweep(): void {
    for (const id of taken.keys()) if (keysOf(id).length < 2) taken.delete(id)
    sweepAt = Math.max(64, 2 * taken.size)
  }

  return {
    carrierOf,
    noteHandshake: (deviceId: string, key: string): AddressMove | null => {
      const keys = keysOf(deviceId)
      const from = carrierOf(deviceId)
      // The newest comes first.
      if (from === null || !keys.includes(key) || keys.indexOf(key) >= keys.indexOf(from)) return null
      taken.set(deviceId, key)
      if (taken.size > sweepAt) sweep()
      return { device_id: deviceId, from, to: key, addresses: state()?.peers.get(deviceId)?.addresses ?? [] }
    },
  }
}
