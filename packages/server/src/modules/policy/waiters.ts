import type { TenantId } from '../../kernel/actor.ts'
import type { Change } from '../../memory/changes.ts'

type Waiter = { deviceId: string; digest: string; wake: () => void }
/** How many waiters are looked at before other work gets its turn. */
const chunk = 1000

/**
 * Requests held until a device's digest changes. A change re-keys the waiters it may concern: those of the devices
 * touched, or all of a tenant's after a publish, in chunks.
 */
export function createWaiters({
  max,
  digestOf,
  touchedDevices,
}: {
  max: number
  /** The device's digest now; undefined when the device is out. */
  digestOf: (tenant: TenantId, deviceId: string) => Promise<string | undefined> | string | undefined
  touchedDevices: (tenant: TenantId, change: Change) => Promise<readonly string[]>
}) {
  const byTenant = new Map<TenantId, Map<string, Set<Waiter>>>()
  let count = 0

  async function look(tenant: TenantId, waiter: Waiter): Promise<void> {
    const digest = digestOf(tenant, waiter.deviceId)
    if ((digest instanceof Promise ? await digest : digest) !== waiter.digest) waiter.wake()
  }
  async function lookAt(tenant: TenantId, waiters: Waiter[]): Promise<void> {
    for (let i = 0; i < waiters.length; i += chunk) {
      const part = waiters.slice(i, i + chunk)
      const later = part.map((w) => look(tenant, w))
      await Promise.allSettled(later)
      await new Promise(setImmediate)
    }
  }

  return {
    /** Settles when the device's digest is no longer `digest`, after `seconds`, when the client goes or at shutdown. */
    wait: (tenant: TenantId, deviceId: string, digest: string, seconds: number, signal: AbortSignal): Promise<void> => {
      if (count >= max) return Promise.resolve()
      count++
      return new Promise((resolve) => {
        const devices = byTenant.get(tenant) ?? new Map<string, Set<Waiter>>()
        byTenant.set(tenant, devices)
        const own = devices.get(deviceId) ?? new Set()
        devices.set(deviceId, own)
        const waiter: Waiter = {
          deviceId,
          digest,
          wake: () => {
            if (!own.delete(waiter)) return
            count--
            if (own.size === 0) devices.delete(deviceId)
            clearTimeout(timer)
            signal.removeEventListener('abort', waiter.wake)
            resolve()
          },
        }
        const timer = setTimeout(waiter.wake, seconds * 1000)
        signal.addEventListener('abort', waiter.wake)
        own.add(waiter)
      })
    },
    onChange: async (tenant: TenantId, changes: readonly Change[]): Promise<void> => {
      const devices = byTenant.get(tenant)
      if (!devices || devices.size === 0) return
      if (changes.some((c) => c.kind === 'policy'))
        return lookAt(
          tenant,
          [...devices.values()].flatMap((w) => [...w]),
        )
      const touched = new Set<string>()
      for (const change of changes) for (const id of await touchedDevices(tenant, change)) touched.add(id)
      await lookAt(
        tenant,
        [...touched].flatMap((id) => [...(devices.get(id) ?? [])]),
      )
    },
    wakeAll: () => {
      for (const devices of byTenant.values()) for (const own of devices.values()) for (const w of [...own]) w.wake()
    },
    count: () => count,
  }
}
export type Waiters = ReturnType<typeof createWaiters>
