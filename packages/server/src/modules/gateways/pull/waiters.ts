import type { TenantId } from '../../../kernel/actor.ts'
import type { Change, Changes } from '../../../memory/changes.ts'

/** What can change what a gateway must enforce. */
export const relevantKinds = ['device', 'user', 'group', 'policy', 'pool', 'vpn_session', 'trust'] as const
const isRelevant = new Set<Change['kind']>(relevantKinds)

export type Outcome = 'woken' | 'timeout' | 'gone' | 'stopped'
export type Ticket = {
  /** Settles at the next relevant change, also one that came since the last `next`. */
  next: (ms: number, signal: AbortSignal) => Promise<Outcome>
  leave: () => void
}
type Waiter = { gatewayId: string; signalled: boolean; settle: ((outcome: Outcome) => void) | undefined }

/**
 * Gateways' requests held until their tenant changes. Changes that come close together wake everyone once. A bounded
 * number is held; at shutdown all are let go.
 */
export function createWaiters({
  changes,
  max,
  gatherMs,
}: {
  changes: Pick<Changes, 'onChange'>
  max: number
  gatherMs: number
}) {
  const byTenant = new Map<TenantId, Set<Waiter>>()
  const newest = new Map<TenantId, number>()
  const gathering = new Map<TenantId, NodeJS.Timeout>()
  let count = 0
  let stopped = false

  const wake = (waiter: Waiter) => {
    waiter.signalled = true
    waiter.settle?.('woken')
  }
  changes.onChange((tenant, seq, list) => {
    const relevant = list.some((c) => isRelevant.has(c.kind))
    if (relevant) newest.set(tenant, Math.max(seq, newest.get(tenant) ?? 0))
    const waiters = byTenant.get(tenant)
    if (!waiters) return
    // A gateway that was deleted, or whose secret was replaced, is looked at at once.
    const gateways = new Set(list.filter((c) => c.kind === 'gateway').map((c) => c.subject))
    if (gateways.size > 0) for (const w of waiters) if (gateways.has(w.gatewayId)) wake(w)
    if (!relevant || gathering.has(tenant)) return
    gathering.set(
      tenant,
      setTimeout(() => {
        gathering.delete(tenant)
        for (const w of byTenant.get(tenant) ?? []) wake(w)
      }, gatherMs),
    )
  })

  return {
    /** Undefined when no more requests can be held. */
    enter: (tenant: TenantId, gatewayId: string): Ticket | undefined => {
      if (stopped || count >= max) return undefined
      const waiters = byTenant.get(tenant) ?? new Set<Waiter>()
      byTenant.set(tenant, waiters)
      const waiter: Waiter = { gatewayId, signalled: false, settle: undefined }
      waiters.add(waiter)
      count++
      return {
        next: (ms, signal) => {
          if (stopped) return Promise.resolve('stopped')
          if (signal.aborted) return Promise.resolve('gone')
          if (waiter.signalled) {
            waiter.signalled = false
            return Promise.resolve('woken')
          }
          return new Promise((resolve) => {
            const settle = (outcome: Outcome) => {
              clearTimeout(timer)
              signal.removeEventListener('abort', gone)
              waiter.settle = undefined
              waiter.signalled = false
              resolve(outcome)
            }
            const gone = () => settle('gone')
            const timer = setTimeout(() => settle('timeout'), ms)
            signal.addEventListener('abort', gone)
            waiter.settle = settle
          })
        },
        leave: () => {
          if (!waiters.delete(waiter)) return
          count--
          if (waiters.size === 0 && byTenant.get(tenant) === waiters) byTenant.delete(tenant)
        },
      }
    },
    /** The newest relevant change told here. Changes before it may not have been: own ones are told at once. */
    newestOf: (tenant: TenantId): number => newest.get(tenant) ?? 0,
    count: () => count,
    stop: () => {
      stopped = true
      for (const timer of gathering.values()) clearTimeout(timer)
      gathering.clear()
      for (const waiters of byTenant.values()) for (const w of waiters) w.settle?.('stopped')
    },
  }
}
export type Waiters = ReturnType<typeof createWaiters>
