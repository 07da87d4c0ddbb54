import type { TenantId } from '../../../kernel/actor.ts'
import { type Change, type Changes, everything } from '../../../replication/changes.ts'
import { createWaiters as createHeldRequests, type Ticket } from '../../../replication/waiters.ts'

export type { Ticket, WaitOutcome } from '../../../replication/waiters.ts'

/** Kinds of changes that can affect a gateway's policy. */
export const relevantKinds = ['device', 'user', 'group', 'policy', 'pool', 'vpn_session', 'trust'] as const
const isRelevant = new Set<Change['kind']>(relevantKinds)

/** Rest per answered gateway: several times the server time that one answer costs. */
const restMsOfOne = 5
const longestRestMs = 250

/**
 * Holds gateway requests until their tenant changes, and answers them in rounds. Changes within `gatherMs` form one
 * round. A rest follows, longer with more waiting gateways, in which the next round gathers. Without rounds a gateway
 * would ask constantly under constant change, each with its own span. In a round the gateways of a tenant share spans.
 */
export function createPullWaiters({
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
  /** Joins the current round or rest, which then ends with an answer. False if there is none. */
  function joinRound(tenant: TenantId): boolean {
    const round = rounds.get(tenant)
    if (round) round.isAwaited = true
    return round !== undefined
  }

  changes.listen('waiters', {
    changed: (tenant, list) => {
      if (!requests.hasAny(tenant)) return
      if (list.some((c) => c.kind === 'tenant')) requests.release(tenant)
      // A gateway that was deleted, or whose secret was replaced, is woken at once.
      for (const { kind, subject } of list)
        if (kind === 'gateway' && subject !== everything) requests.wake(tenant, subject)
      const concernsAll = list.some((c) => isRelevant.has(c.kind) || (c.kind === 'gateway' && c.subject === everything))
      if (concernsAll && !joinRound(tenant)) begin(tenant, gatherMs, true)
    },
    forgotten: requests.wakeAll,
  })

  return {
    /** Undefined if no more requests can be held. */
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
export type Waiters = ReturnType<typeof createPullWaiters>
