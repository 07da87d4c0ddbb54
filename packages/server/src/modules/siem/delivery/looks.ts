import type { TenantId } from '../../../kernel/actor.ts'
import { second } from '../../../kernel/time.ts'

/** How often a replica looks at all tenants: for what others left, who ended or have enough to do. */
const sweepMs = 3 * second

/**
 * Which tenants a replica looks at next for what is to be sent. Of most there is nothing, and the one who gives events
 * their places knows of which there is.
 */
export function createLooks() {
  const woken = new Set<TenantId>()
  let sweepAt = 0
  return {
    /** Something is to be sent there, now or after a time. */
    wake: (tenant: TenantId, afterMs = 0): void => {
      if (afterMs > 0) setTimeout(() => woken.add(tenant), afterMs).unref()
      else woken.add(tenant)
    },
    /** Undefined where there is nothing to look for. */
    next: (): readonly TenantId[] | 'all' | undefined => {
      const isSweep = performance.now() >= sweepAt
      if (!isSweep && woken.size === 0) return undefined
      const tenants = [...woken]
      woken.clear()
      if (!isSweep) return tenants
      sweepAt = performance.now() + sweepMs
      return 'all'
    },
    /** There was more than could be begun, or it could not be asked. */
    again: (tenants: readonly TenantId[] | 'all'): void => {
      if (tenants === 'all') sweepAt = 0
      else for (const tenant of tenants) woken.add(tenant)
    },
  }
}
