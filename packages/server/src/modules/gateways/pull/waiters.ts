import type { TenantId } from '../../../kernel/actor.ts'
import { type Change, type Changes, everything } from '../../../memory/changes.ts'
import { createWaiters as createHeldRequests, type Ticket } from '../../../memory/waiters.ts'

export type { Outcome, Ticket } from '../../../memory/waiters.ts'

/** What can change what a gateway must enforce. */
export const relevantKinds = ['device', 'user', 'group', 'policy', 'pool', 'vpn_session', 'trust'] as const
const isRelevant = new Set<Change['kind']>(relevantKinds)

/** What one gateway that is answered costs of a server's time, several times over. */
const restMsOfOne = 5
const longestRestMs = 250

/**
 * Gateways' requests held until their tenant changes, answered in rounds: what changes within `gatherMs` is one round,
 * and after it comes a rest in which the next one gathers, the longer the more gateways wait. Under constant change a
 * gateway would otherwise ask without a pause, each for a span of its own; so those of a tenant share theirs.
 */
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
  type Round = { timer: NodeJS.Timeout; isAwaited: boolean }
  const rounds = new Map<TenantId, Round>()

  function begin(tenant: TenantId, ms: number, isAwaited: boolean): void {
    const round: Round = { timer: setTimeout(() => end(tenant, round), ms), isAwaited }
    rounds.set(tenant, round)
  }
  function end(tenant: TenantId, { isAwaited }: Round): void {
    const waiting = requests.countOf(tenant)
    if (!isAwaited || waiting === 0) return void rounds.delete(tenant)
    requests.wakeAll(tenant)
    begin(tenant, Math.min(longestRestMs, Math.max(gatherMs, waiting * restMsOfOne)), false)
  }
  /** Whether a round gathers, or others rest: then it ends with an answer. */
  function joinRound(tenant: TenantId): boolean {
    const round = rounds.get(tenant)
    if (round) round.isAwaited = true
    return round !== undefined
  }

  changes.listen('waiters', {
    changed: (tenant, list) => {
      if (!requests.hasAny(tenant)) return
      if (list.some((c) => c.kind === 'tenant')) requests.release(tenant)
      // A gateway that was deleted, or whose secret was replaced, is looked at at once.
      for (const { kind, subject } of list)
        if (kind === 'gateway' && subject !== everything) requests.wake(tenant, subject)
      const concernsAll = list.some((c) => isRelevant.has(c.kind) || (c.kind === 'gateway' && c.subject === everything))
      if (concernsAll && !joinRound(tenant)) begin(tenant, gatherMs, true)
    },
    forgotten: requests.wakeAll,
  })

  return {
    /** Undefined when no more requests can be held. */
    enter: (tenant: TenantId, gatewayId: string): Ticket | undefined => requests.enter(tenant, gatewayId),
    joinRound,
    count: requests.count,
    hasAny: requests.hasAny,
    stop: (): void => {
      for (const { timer } of rounds.values()) clearTimeout(timer)
      rounds.clear()
      requests.stop()
    },
  }
}
export type Waiters = ReturnType<typeof createWaiters>
