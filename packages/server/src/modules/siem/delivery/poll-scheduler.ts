import type { TenantId } from '../../../kernel/actor.ts'
import { second } from '../../../kernel/time.ts'

/** Interval at which a replica checks all tenants, for streams that other replicas left or have no time for. */
const sweepMs = 3 * second

/** Decides which tenants a replica checks next for events to send. Most have none. Sequencing reports those that do. */
export function createPollScheduler() {
  const woken = new Set<TenantId>()
  let sweepAt = 0
  return {
    /** Called when there are events to send, now or after a time. */
    wake: (tenant: TenantId, afterMs = 0): void => {
      if (afterMs > 0) setTimeout(() => woken.add(tenant), afterMs).unref()
      else woken.add(tenant)
    },
    /** Undefined if there is nothing to check. */
    next: (): readonly TenantId[] | 'all' | undefined => {
      const isSweep = performance.now() >= sweepAt
      if (!isSweep && woken.size === 0) return undefined
      const tenants = [...woken]
      woken.clear()
      if (!isSweep) return tenants
      sweepAt = performance.now() + sweepMs
      return 'all'
    },
    /** Called if there were more streams than could be started, or if the query failed. */
    again: (tenants: readonly TenantId[] | 'all'): void => {
      if (tenants === 'all') sweepAt = 0
      else for (const tenant of tenants) woken.add(tenant)
    },
  }
}
