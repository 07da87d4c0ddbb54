import type { Hold } from '../../http/answer/representation.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { mapMaybePromise } from '../../kernel/maybe-promise.ts'
import type { Representation } from '../../kernel/results.ts'
import { second } from '../../kernel/time.ts'
import { type Change, type ChangeKind, type Changes, everything } from '../../replication/changes.ts'
import { createWaiters } from '../../replication/waiters.ts'
import type { Fleet } from './fleet.ts'

/** Maximum number of devices that wait for one resource. */
const most = 50_000
/** Answers in one turn of the event loop. They take about 2 ms; then other work gets a turn. */
const perTurn = 5

export type CallingDevice = { tenantId: TenantId; id: string }
type Read<C, T> = (caller: C) => Representation<T> | Promise<Representation<T>>

/**
 * Held reads of devices (long polls). A change of a device or of its user makes that device read again. A change of a
 * kind in `concernAll`, or of all devices or users, makes all devices of the tenant read again.
 */
export function createHeldReads({
  changes,
  fleet,
  concernAll,
  longestLookMs,
}: {
  changes: Pick<Changes, 'listen'>
  fleet: Pick<Fleet, 'devicesOfUser'>
  concernAll: readonly ChangeKind[]
  /**
   * Maximum time between two reads of a waiting device, for values that change without a change event; Infinity if
   * there are none.
   */
  longestLookMs: number
}) {
  const waiters = createWaiters({ max: most, perTurn, oneFirst: true })
  const pace = createFairScheduler(perTurn)

  function wake(tenant: TenantId, { kind, subject }: Change): void {
    const isOfOne = kind === 'device' || kind === 'user'
    if (kind === 'tenant') waiters.release(tenant)
    else if (isOfOne ? subject === everything : concernAll.includes(kind)) waiters.wakeAll(tenant)
    else if (kind === 'device') waiters.wake(tenant, subject)
    else if (kind === 'user')
      fleet.devicesOfUser(tenant, subject).then(
        (ids) => {
          for (const id of ids) waiters.wake(tenant, id)
        },
        // All devices are woken if the user's devices cannot be determined.
        () => waiters.wakeAll(tenant),
      )
  }
  changes.listen('waiters', {
    changed: (tenant, list) => {
      if (waiters.hasAny(tenant)) for (const change of list) wake(tenant, change)
    },
    forgotten: waiters.wakeAll,
  })

  async function next<C extends CallingDevice, T>(caller: C, read: Read<C, T>, hold: Hold): Promise<Representation<T>> {
    const ticket = waiters.enter(caller.tenantId, caller.id)
    if (!ticket) {
      hold.decline()
      return read(caller)
    }
    hold.whenGone(ticket.onClientGone)
    const deadline = performance.now() + hold.seconds * second
    try {
      for (let isWoken = false; ; isWoken = true) {
        // Reads after registering, and again after every wake-up, so that no change in between is missed.
        let answer = read(caller)
        // A value for many devices is computed once. Each of them then waits for a turn and reads again.
        if (answer instanceof Promise) answer = await (isWoken ? answer.then(pace).then(() => read(caller)) : answer)
        const left = deadline - performance.now()
        if (left <= 0 || !hold.knows(answer)) return answer
        const outcome = await ticket.next(Math.min(left, longestLookMs))
        if (outcome === 'gone' || outcome === 'stopped') return answer
      }
    } finally {
      ticket.leave()
    }
  }

  return {
    /** Answers at once if the caller lacks the current value or does not wait. Warm calls are synchronous. */
    readOrWait: <C extends CallingDevice, T>(caller: C, read: Read<C, T>, hold: Hold | undefined) =>
      mapMaybePromise(read(caller), (answer) => (hold?.knows(answer) ? next(caller, read, hold) : answer)),
    /** Wakes all devices of a tenant, for events other than a change. */
    wakeAll: waiters.wakeAll,
    waiting: waiters.count,
    /** True if a device of the tenant waits. */
    isAwaited: waiters.hasAny,
    /** Answers all held requests, and holds none from now on. */
    stop: waiters.stop,
  }
}
export type HeldReads = ReturnType<typeof createHeldReads>

/**
 * Lets callers pass in order of arrival, a few per turn of the event loop. Between two groups of a large wake-up, other
 * work gets its turn.
 */
function createFairScheduler(perTurn: number) {
  let waiting: (() => void)[] = []
  let passed = 0

  const release = (): void => {
    for (const pass of waiting.slice(passed, passed + perTurn)) pass()
    passed += perTurn
    if (passed < waiting.length) setImmediate(release)
    else {
      waiting = []
      passed = 0
    }
  }
  return (): Promise<void> =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(release)
    })
}
