import type { TenantId } from '../kernel/actor.ts'

export type Outcome = 'woken' | 'timeout' | 'gone' | 'stopped'
export type Ticket = {
  /** Settles at the next wake-up, also at one that came since the last `next`: who enters before looking misses nothing. */
  next: (ms: number, signal: AbortSignal) => Promise<Outcome>
  leave: () => void
}
type Waiter = { signalled: boolean; settle: ((outcome: Outcome) => void) | undefined }

/** Waking a herd gives way to other work after this many: what was woken looks before the next are. */
const turnSize = 50

/**
 * Requests held until something is worth another look, by tenant and by what they wait for. Who is woken looks again and
 * may go on waiting; an error while looking is its request's own. A bounded number is held; at the stop all are let go,
 * and nobody is held after it.
 */
export function createWaiters({ max }: { max: number }) {
  const byTenant = new Map<TenantId, Map<string, Set<Waiter>>>()
  let count = 0
  let stopped = false

  const signal = (waiter: Waiter) => {
    waiter.signalled = true
    waiter.settle?.('woken')
  }
  async function wakeInTurns(waiters: Waiter[]): Promise<void> {
    for (const [i, waiter] of waiters.entries()) {
      signal(waiter)
      if (i % turnSize === turnSize - 1) await new Promise(setImmediate)
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
      const waiter: Waiter = { signalled: false, settle: undefined }
      own.add(waiter)
      count++
      return {
        next: (ms, gone) => {
          if (stopped) return Promise.resolve('stopped')
          if (gone.aborted) return Promise.resolve('gone')
          if (waiter.signalled) {
            waiter.signalled = false
            return Promise.resolve('woken')
          }
          return new Promise((resolve) => {
            const settle = (outcome: Outcome) => {
              clearTimeout(timer)
              gone.removeEventListener('abort', leave)
              waiter.settle = undefined
              waiter.signalled = false
              resolve(outcome)
            }
            const leave = () => settle('gone')
            const timer = setTimeout(() => settle('timeout'), ms)
            gone.addEventListener('abort', leave)
            waiter.settle = settle
          })
        },
        leave: () => {
          if (!own.delete(waiter)) return
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
      if (all.length > 0) setImmediate(() => void wakeInTurns(all))
    },
    hasAny: (tenant: TenantId): boolean => byTenant.has(tenant),
    count: () => count,
    stop: (): void => {
      stopped = true
      for (const keys of byTenant.values())
        for (const own of keys.values()) for (const waiter of own) waiter.settle?.('stopped')
    },
  }
}
export type Waiters = ReturnType<typeof createWaiters>
