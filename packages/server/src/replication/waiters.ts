import type { TenantId } from '../kernel/actor.ts'
import { createTimers } from './timers.ts'

export type WaitOutcome = 'woken' | 'timeout' | 'gone' | 'stopped'
export type Ticket = {
  /**
   * Settles at the next wake-up, including one since the last `next`. So a caller that enters before it reads misses
   * nothing.
   */
  next: (ms: number) => Promise<WaitOutcome>
  /** The client has disconnected: this wait and later ones are pointless. */
  onClientGone: () => void
  leave: () => void
}
type Waiter = {
  signalled: boolean
  isGone: boolean
  isReleased: boolean
  hasLeft: boolean
  resolveWait: ((outcome: WaitOutcome) => void) | undefined
  /** Called after the waiter has looked: it waits again or leaves. */
  looked: (() => void) | undefined
}

/**
 * Held requests (long polls), by tenant and key. A woken request looks again and may continue to wait; an error fails
 * only that request. Waking many pauses after `perTurn`, until the woken ones have looked, so that other work gets its
 * turn. With `oneFirst` the others of a tenant follow after the first has looked and filled the caches for them. The
 * number of held requests is limited. A stop releases all, and later requests are not held.
 */
export function createWaiters({ max, perTurn, oneFirst }: { max: number; perTurn: number; oneFirst: boolean }) {
  const alarms = createTimers()
  const byTenant = new Map<TenantId, Map<string, Set<Waiter>>>()
  let count = 0
  let stopped = false

  const signal = (waiter: Waiter) => {
    waiter.signalled = true
    waiter.resolveWait?.('woken')
  }
  const hasLooked = (waiter: Waiter): void => {
    const { looked } = waiter
    waiter.looked = undefined
    looked?.()
  }
  /** Wakes a waiter and settles when it has looked, with any result. It may be the first of two groups. */
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
    /** Undefined if no more requests can be held. */
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
        resolveWait: undefined,
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
            waiter.resolveWait = (outcome) => {
              silence()
              waiter.resolveWait = undefined
              waiter.signalled = false
              resolve(outcome)
            }
            const silence = alarms.set(ms, () => waiter.resolveWait?.('timeout'))
          })
        },
        onClientGone: () => {
          waiter.isGone = true
          waiter.resolveWait?.('gone')
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
    /** Wakes the waiters of one key at once; they are few. */
    wake: (tenant: TenantId, key: string): void => {
      for (const waiter of byTenant.get(tenant)?.get(key) ?? []) signal(waiter)
    },
    /** Wakes all of a tenant, or of all tenants, in groups, starting after the current turn of the loop. */
    wakeAll: (tenant: TenantId | undefined): void => {
      const tenants = tenant === undefined ? [...byTenant.values()] : [byTenant.get(tenant) ?? new Map()]
      const all = tenants.flatMap((keys) => [...keys.values()].flatMap((own: Set<Waiter>) => [...own]))
      if (all.length > 0) setImmediate(() => void wakeInTurns(all, tenant !== undefined))
    },
    /** Answers all requests of a tenant with the present state; the clients ask again and are authorised anew. */
    release: (tenant: TenantId): void => {
      for (const own of byTenant.get(tenant)?.values() ?? [])
        for (const waiter of own) {
          waiter.isReleased = true
          waiter.resolveWait?.('stopped')
        }
    },
    hasAny: (tenant: TenantId): boolean => byTenant.has(tenant),
    /** Number of distinct keys with waiters of the tenant. */
    countOf: (tenant: TenantId): number => byTenant.get(tenant)?.size ?? 0,
    count: () => count,
    stop: (): void => {
      stopped = true
      for (const keys of byTenant.values())
        for (const own of keys.values()) for (const waiter of own) waiter.resolveWait?.('stopped')
    },
  }
}
