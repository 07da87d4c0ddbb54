import type { Hold } from '../../../http/representation.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { createPace } from '../../../kernel/pace.ts'
import type { Representation } from '../../../kernel/representation.ts'
import { second } from '../../../kernel/time.ts'
import { type ChangeKind, type Changes, everything } from '../../../memory/changes.ts'
import { createWaiters } from '../../../memory/waiters.ts'

/** What may change the directory of every device of a tenant; a change of a device concerns that one. */
const concernAll = new Set<ChangeKind>(['policy', 'pool', 'gateway', 'user', 'group'])
/** A gateway that falls silent changes nothing that is told: who waits looks at least this often. */
const longestLook = 60 * second

/** Devices whose directory is held until it says something else. */
export function createDirectoryWaits({
  changes,
  onLiveness,
}: {
  changes: Pick<Changes, 'listen'>
  onLiveness: (listener: (tenant: TenantId) => void) => void
}) {
  const waiters = createWaiters({ max: 50_000, perTurn: 5 })
  const pace = createPace(5)
  changes.listen('waiters', {
    changed: (tenant, list) => {
      if (!waiters.hasAny(tenant)) return
      if (list.some((c) => concernAll.has(c.kind) || (c.kind === 'device' && c.subject === everything)))
        waiters.wakeAll(tenant)
      else for (const c of list) if (c.kind === 'device') waiters.wake(tenant, c.subject)
    },
    forgotten: waiters.wakeAll,
  })
  onLiveness(waiters.wakeAll)

  return {
    /** At once where the device does not have it yet, or does not wait. */
    readOrWait: async <T>(
      { tenantId, principal }: Actor<'device'>,
      read: () => Promise<Representation<T>>,
      hold: Hold | undefined,
    ): Promise<Representation<T>> => {
      let given = await read()
      if (!hold?.knows(given)) return given
      const ticket = waiters.enter(tenantId, principal.id)
      if (!ticket) {
        hold.decline()
        return given
      }
      hold.whenGone(ticket.gone)
      const deadline = performance.now() + hold.seconds * second
      try {
        for (;;) {
          // Looked at after entering, and again after every wake-up: nothing that comes between is missed.
          given = await read()
          const left = deadline - performance.now()
          if (left <= 0 || !hold.knows(given)) return given
          const outcome = await ticket.next(Math.min(left, longestLook))
          if (outcome === 'gone' || outcome === 'stopped') return given
          if (outcome === 'woken') await pace()
        }
      } finally {
        ticket.leave()
      }
    },
    waiting: waiters.count,
    isAwaited: waiters.hasAny,
    stop: waiters.stop,
  }
}
export type DirectoryWaits = ReturnType<typeof createDirectoryWaits>
