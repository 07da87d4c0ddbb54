import type { GatewayState } from './gateway-state.ts'
import type { GatewayStore } from './gateway-store.ts'
import { isObject } from './signed.ts'

const schema = 'holdfast.gateway-tunnel-keys/1'

/** A peer's addresses belong to another of its keys now: its allowed IPs move from the one to the other. */
export type AddressMove = { device_id: string; from: string; to: string; addresses: readonly string[] }

/**
 * Which key of a peer its addresses are at. A device that renews with another WireGuard key is named with both; the
 * older one keeps the addresses until the first handshake with the newer, or its own end, and never gets them back.
 * With a store the next process knows it too; only keys that are signed for the peer count, whatever is stored.
 */
export function createTunnelKeys(
  state: () => GatewayState | null,
  { store, onStoreError = () => {} }: { store?: GatewayStore | undefined; onStoreError?: (e: unknown) => void } = {},
) {
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
    /** Goes on with what an earlier process noted. */
    restore: async (): Promise<void> => {
      const text = await store?.load('tunnel-keys')
      if (text === undefined) return
      const value: unknown = JSON.parse(text)
      const isKnown = isObject(value) && value.schema === schema && Array.isArray(value.taken)
      if (!isKnown) throw new TypeError('what is stored of tunnel keys is no list of them')
      for (const [deviceId, key] of value.taken as [string, string][])
        if (!taken.has(deviceId)) taken.set(deviceId, key)
    },
    noteHandshake: (deviceId: string, key: string): AddressMove | null => {
      const keys = keysOf(deviceId)
      const from = carrierOf(deviceId)
      // The newest comes first.
      if (from === null || !keys.includes(key) || keys.indexOf(key) >= keys.indexOf(from)) return null
      taken.set(deviceId, key)
      if (taken.size > sweepAt) sweep()
      store?.save('tunnel-keys', JSON.stringify({ schema, taken: [...taken] })).catch(onStoreError)
      return { device_id: deviceId, from, to: key, addresses: state()?.peers.get(deviceId)?.addresses ?? [] }
    },
  }
}
