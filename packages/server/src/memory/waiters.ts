import type { TenantId } from '../kernel/actor.ts'
import { createAlarms } from '../kernel/ticks.ts'

export type Outcome = 'woken' | 'timeout' | 'gone' | 'stopped'
export type Ticket = {
  /**
   * Settles at the next wake-up, also at one that came since the last `next`: who enters before looking misses nothing.
   */
  next: (ms: number) => Promise<Outcome>
  /** The client has gone: neither this wait nor another one has a purpose. */
  gone: () => void
  leave: () => void
}
type Waiter = {
  signalled: boolean
  isGone: boolean
  isReleased: boolean
  hasLeft: boolean
  settle: ((outcome: Outcome) => void) | undefined
  /** Called when it has looked: it waits again, or leaves. */
  looked: (() => void) | undefined
}

/**
 * Requests held until something is worth another look, by tenant and by what they wait for. Who is woken looks again
 * and may go on waiting; an error while looking is its request's own. Waking a herd gives way to other work after
 * `perTurn`: what was woken looks before the next are. With `oneFirst` a tenant's herd follows when the first of it has
 * looked, and so has had made what all of them need. A bounded number is held; at the stop all are let go, and nobody
 * is held after it.
 */
export function createWaiters({ max, perTurn, oneFirst }: { max: number; perTurn: number; oneFirst: boolean }) {
  const alarms = createAlarms()
  const byTenant = new Map<TenantId, Map<string, Set<Waiter>>>()
  let count = 0
  let stopped = false

  const signal = (waiter: Waiter) => {
    waiter.signalled = true
    waiter.settle?.('woken')
  }
  const hasLooked = (waiter: Waiter): void => {
    const { looked } = waiter
    waiter.looked = undefined
    looked?.()
  }
  /** Settles when it has looked, whatever came of it. It may be the first of two herds. */
  const look = (waiter: Waiter): Promise<void> =>
    new Promise((resolve) => {
      const { looked } = waiter
      waiter.looked = () => {
        looked?.()
        resolve()
      }
      signal(waiter)
    })
  async function wakeInTurns(waiters: readonly Waiter[], isOneTenant: boolean): Promise<void> {
    let woken = 0
    for (const waiter of waiters) {
      if (waiter.hasLeft) continue
      if (woken === 0 && isOneTenant && oneFirst) await look(waiter)
      else signal(waiter)
      if (++woken % perTurn === 0) await new Promise(setImmediate)
    }
  }

  return {
    /** Undefined when no more requests can be held. */
    enter: (tenant: TenantId, key: string): Ticket | undefined => {
      if (stopped || count >= max) return undefined
      const keys = byTenant.get(tenant) ?? new Map<string, Set<Waiter>>()
      byTenant.set(tenant, keys)
      const own = keys.get(key) ?? new Set<Waiter>()
      keys.set(key, own)
      const waiter: Waiter = {
        signalled: false,
        isGone: false,
        isReleased: false,
        hasLeft: false,
        settle: undefined,
        looked: undefined,
      }
      own.add(waiter)
      count++
      return {
        next: (ms) => {
          hasLooked(waiter)
          if (stopped || waiter.isReleased) return Promise.resolve('stopped')
          if (waiter.isGone) return Promise.resolve('gone')
          if (waiter.signalled) {
            waiter.signalled = false
            return Promise.resolve('woken')
          }
          return new Promise((resolve) => {
            waiter.settle = (outcome) => {
              silence()
              waiter.settle = undefined
              waiter.signalled = false
              resolve(outcome)
            }
            const silence = alarms.set(ms, () => waiter.settle?.('timeout'))
          })
        },
        gone: () => {
          waiter.isGone = true
          waiter.settle?.('gone')
        },
        leave: () => {
          if (!own.delete(waiter)) return
          waiter.hasLeft = true
          hasLooked(waiter)
          count--
          if (own.size === 0 && keys.get(key) === own) keys.delete(key)
          if (keys.size === 0 && byTenant.get(tenant) === keys) byTenant.delete(tenant)
        },
      }
    },
    /** At once, for the few who wait for one thing. */
    wake: (tenant: TenantId, key: string): void => {
      for (const waiter of byTenant.get(tenant)?.get(key) ?? []) signal(waiter)
    },
    /** Everyone of a tenant, or of all tenants; in turns, beginning after the running one. */
    wakeAll: (tenant: TenantId | undefined): void => {
      const tenants = tenant === undefined ? [...byTenant.values()] : [byTenant.get(tenant) ?? new Map()]
      const all = tenants.flatMap((keys) => [...keys.values()].flatMap((own: Set<Waiter>) => [...own]))
      if (all.length > 0) setImmediate(() => void wakeInTurns(all, tenant !== undefined))
    },
    /** Everyone of a tenant is answered with what there is, and asks anew to be let in. */
    release: (tenant: TenantId): void => {
      for (const own of byTenant.get(tenant)?.values() ?? [])
        for (const waiter of own) {
          waiter.isReleased = true
          waiter.settle?.('stopped')
        }
    },
    hasAny: (tenant: TenantId): boolean => byTenant.has(tenant),
    /** For how many things someone of the tenant waits. */
    countOf: (tenant: TenantId): number => byTenant.get(tenant)?.size ?? 0,
    count: () => count,
    stop: (): void => {
      stopped = true
      for (const keys of byTenant.values())
        for (const own of keys.values()) for (const waiter of own) waiter.settle?.('stopped')
    },
  }
}
