import type { Hold } from '../../http/representation.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { unauthorized } from '../../kernel/app-error.ts'
import { createPace } from '../../kernel/pace.ts'
import { whenReady } from '../../kernel/ready.ts'
import type { Representation } from '../../kernel/representation.ts'
import { type Change, type Changes, everything } from '../../memory/changes.ts'
import { createWaiters } from '../../memory/waiters.ts'
import type { Fleet } from '../devices/index.ts'

/** Devices that wait at once. */
const most = 50_000
/** After a publish so many are answered in one turn of the loop: about two milliseconds, then others have theirs. */
const perTurn = 5

export type Caller = { tenantId: TenantId; id: string }
type Read<T> = (tenant: TenantId, deviceId: string) => Given<T> | Promise<Given<T>>
type Given<T> = Representation<T> | undefined

/** Reads of devices that may be held until there is something new. A device that is gone meanwhile has no credential. */
export function createHeldReads({
  changes,
  fleet,
}: {
  changes: Pick<Changes, 'listen'>
  fleet: Pick<Fleet, 'devicesOfUser'>
}) {
  const waiters = createWaiters({ max: most, perTurn })
  const pace = createPace(perTurn)

  function wake(tenant: TenantId, { kind, subject }: Change): void {
    if (kind === 'policy' || (subject === everything && (kind === 'device' || kind === 'user'))) waiters.wakeAll(tenant)
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

  const read = <T>({ tenantId, id }: Caller, of: Read<T>): Representation<T> | Promise<Representation<T>> =>
    whenReady(of(tenantId, id), (given) => given ?? unauthorized())

  async function next<T>(caller: Caller, of: Read<T>, hold: Hold): Promise<Representation<T>> {
    const ticket = waiters.enter(caller.tenantId, caller.id)
    if (!ticket) {
      hold.decline()
      return read(caller, of)
    }
    hold.whenGone(ticket.gone)
    const deadline = performance.now() + hold.seconds * 1000
    try {
      for (;;) {
        // Looked at after entering, and again after every wake-up: nothing that comes between is missed.
        const given = await read(caller, of)
        const left = deadline - performance.now()
        if (left <= 0 || !hold.knows(given)) return given
        const outcome = await ticket.next(left)
        if (outcome === 'gone' || outcome === 'stopped') return given
        if (outcome === 'timeout') return read(caller, of)
        // What a herd needs is made once for all of it. Whoever waited for that waits for a turn, and looks again.
        const made = read(caller, of)
        if (made instanceof Promise) await made.then(pace)
      }
    } finally {
      ticket.leave()
    }
  }

  return {
    /** At once, where the caller does not have it yet or does not wait; warm calls are synchronous. */
    read,
    readOrWait: <T>(caller: Caller, of: Read<T>, hold: Hold | undefined) =>
      whenReady(read(caller, of), (given) => (hold?.knows(given) ? next(caller, of, hold) : given)),
    waiting: waiters.count,
    /** Whether a device of the tenant waits. */
    isAwaited: waiters.hasAny,
    /** Answers every held request; none is held from now on. */
    stop: waiters.stop,
  }
}
