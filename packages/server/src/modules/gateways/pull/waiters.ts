import type { TenantId } from '../../../kernel/actor.ts'
import { type Change, type Changes, everything } from '../../../memory/changes.ts'
import { createWaiters as createHeldRequests, type Ticket } from '../../../memory/waiters.ts'

export type { Outcome, Ticket } from '../../../memory/waiters.ts'

/** What can change what a gateway must enforce. */
export const relevantKinds = ['device', 'user', 'group', 'policy', 'pool', 'vpn_session', 'trust'] as const
const isRelevant = new Set<Change['kind']>(relevantKinds)

/** Gateways' requests held until their tenant changes. Changes that come close together wake everyone once. */
export function createWaiters({
  changes,
  max,
  gatherMs,
}: {
  changes: Pick<Changes, 'listen'>
  max: number
  gatherMs: number
}) {
  const requests = createHeldRequests({ max, perTurn: 50, oneFirst: false })
  const gathering = new Map<TenantId, NodeJS.Timeout>()

  changes.listen('waiters', {
    changed: (tenant, list) => {
      if (!requests.hasAny(tenant)) return
      // A gateway that was deleted, or whose secret was replaced, is looked at at once.
      for (const { kind, subject } of list)
        if (kind === 'gateway' && subject !== everything) requests.wake(tenant, subject)
      const concernsAll = list.some((c) => isRelevant.has(c.kind) || (c.kind === 'gateway' && c.subject === everything))
      if (!concernsAll || gathering.has(tenant)) return
      gathering.set(
        tenant,
        setTimeout(() => {
          gathering.delete(tenant)
          requests.wakeAll(tenant)
        }, gatherMs),
      )
    },
    forgotten: requests.wakeAll,
  })

  return {
    /** Undefined when no more requests can be held. */
    enter: (tenant: TenantId, gatewayId: string): Ticket | undefined => requests.enter(tenant, gatewayId),
    count: requests.count,
    hasAny: requests.hasAny,
    stop: (): void => {
      for (const timer of gathering.values()) clearTimeout(timer)
      gathering.clear()
      requests.stop()
    },
  }
}
export type Waiters = ReturnType<typeof createWaiters>
