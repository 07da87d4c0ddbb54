import type { Hold } from '../../http/representation.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { createPace } from '../../kernel/pace.ts'
import { whenReady } from '../../kernel/ready.ts'
import type { Representation } from '../../kernel/representation.ts'
import { second } from '../../kernel/time.ts'
import { type Change, type ChangeKind, type Changes, everything } from '../../memory/changes.ts'
import { createWaiters } from '../../memory/waiters.ts'
import type { Fleet } from './fleet.ts'

/** Devices that wait at once for one thing. */
const most = 50_000
/** So many are answered in one turn of the loop: about two milliseconds, then others have theirs. */
const perTurn = 5

export type Caller = { tenantId: TenantId; id: string }
type Read<C, T> = (caller: C) => Representation<T> | Promise<Representation<T>>

/**
 * Reads of devices that may be held until there is something new. A change of a device or of its user has that device
 * look again; a change of a kind in `concernAll`, or of every device or user at once, has all of the tenant look.
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
  /** Who waits looks at least this often, for what changes without a word; Infinity where nothing does. */
  longestLookMs: number
}) {
  const waiters = createWaiters({ max: most, perTurn, oneFirst: true })
  const pace = createPace(perTurn)

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
        // Who can't be told apart is woken.
        () => waiters.wakeAll(tenant),
      )
  }
  changes.listen('waiters', {
    changed: (tenant, list) => {
      if (waiters.hasAny(tenant)) for (const change of list) wake(tenant, change)
    },
    forgotten: waiters.wakeAll,
  })

  async function next<C extends Caller, T>(caller: C, read: Read<C, T>, hold: Hold): Promise<Representation<T>> {
    const ticket = waiters.enter(caller.tenantId, caller.id)
    if (!ticket) {
      hold.decline()
      return read(caller)
    }
    hold.whenGone(ticket.gone)
    const deadline = performance.now() + hold.seconds * second
    try {
      for (let isWoken = false; ; isWoken = true) {
        // Looked at after entering, and again after every wake-up: nothing that comes between is missed.
        let given = read(caller)
        // What a herd needs is made once for all of it. Whoever waited for that waits for a turn, and looks again.
        if (given instanceof Promise) given = await (isWoken ? given.then(pace).then(() => read(caller)) : given)
        const left = deadline - performance.now()
        if (left <= 0 || !hold.knows(given)) return given
        const outcome = await ticket.next(Math.min(left, longestLookMs))
        if (outcome === 'gone' || outcome === 'stopped') return given
      }
    } finally {
      ticket.leave()
    }
  }

  return {
    /** At once, where the caller does not have it yet or does not wait; warm calls are synchronous. */
    readOrWait: <C extends Caller, T>(caller: C, read: Read<C, T>, hold: Hold | undefined) =>
      whenReady(read(caller), (given) => (hold?.knows(given) ? next(caller, read, hold) : given)),
    /** For what concerns every device of a tenant and is no change of its own. */
    wakeAll: waiters.wakeAll,
    waiting: waiters.count,
    /** Whether a device of the tenant waits. */
    isAwaited: waiters.hasAny,
    /** Answers every held request; none is held from now on. */
    stop: waiters.stop,
  }
}
export type HeldReads = ReturnType<typeof createHeldReads>
