import { isObject } from '../verify/signed.ts'
import type { GatewayState } from './state.ts'
import type { GatewayStore } from './store.ts'

const schema = 'holdfast.gateway-tunnel-keys/1'

/** The addresses of a peer move to another of its keys, and so do the allowed IPs. */
export type AddressMove = { device_id: string; from: string; to: string; addresses: readonly string[] }

/**
 * Tracks which key of a peer has its addresses. A device that renews with another WireGuard key is listed with both.
 * The older key keeps the addresses until the first handshake with the newer one, or its own end, and never gets them
 * back. With a store this survives a restart. Stored keys that are not signed for the peer are ignored.
 */
export function createTunnelKeys(
  state: () => GatewayState | null,
  { store, onStoreError = () => {} }: { store?: GatewayStore | undefined; onStoreError?: (e: unknown) => void } = {},
) {
  /** For peers with several keys: the key that took the addresses. */
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
    /** Loads the data of an earlier process. */
    restore: async (): Promise<void> => {
      const text = await store?.load('tunnel-keys')
      if (text === undefined) return
      const value: unknown = JSON.parse(text)
      const isKnown = isObject(value) && value.schema === schema && Array.isArray(value.taken)
      if (!isKnown) throw new TypeError('the stored value is not a list of tunnel keys')
      for (const [deviceId, key] of value.taken as [string, string][])
        if (!taken.has(deviceId)) taken.set(deviceId, key)
    },
    noteHandshake: (deviceId: string, key: string): AddressMove | null => {
      const keys = keysOf(deviceId)
      const from = carrierOf(deviceId)
      // The newest key comes first.
      if (from === null || !keys.includes(key) || keys.indexOf(key) >= keys.indexOf(from)) return null
      taken.set(deviceId, key)
      if (taken.size > sweepAt) sweep()
      store?.save('tunnel-keys', JSON.stringify({ schema, taken: [...taken] })).catch(onStoreError)
      return { device_id: deviceId, from, to: key, addresses: state()?.peers.get(deviceId)?.addresses ?? [] }
    },
  }
}
