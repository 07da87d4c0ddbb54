import { setTimeout as delay } from 'node:timers/promises'
import type { Database, Tx } from '../../db/database.ts'
import { isAway } from '../../db/unavailable.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { second } from '../../kernel/time.ts'
import { type Arrival, backlogOf, place, sequence, tenantsWithArrivals } from './audit.queries.ts'

const batch = 1000
/** Full batches of one tenant before other tenants get a turn. */
const inATurn = 10
/** Events written within this time are sequenced together. */
const gatherMs = 50
/** Interval at which a replica looks for events that other replicas left unsequenced when they ended. */
const sweepMs = second
/** Delay before a retry while another replica holds the head. */
const againMs = 10
/** Maximum time that a reader waits for earlier events. Longer than a stalled replica can hold a head. */
const longestWaitMs = 2 * second

const held = () =>
  new AppError('internal_error', 'another replica is writing the audit log of this tenant: try again', {
    retryAfterSeconds: 1,
  })

/**
 * Assigns sequence numbers. A tenant's sequence follows the order of commits, without gaps, on any replica. Each batch
 * is one short transaction under the lock of the tenant's head; no transaction waits for that lock.
 */
export function createSequencer({
  db,
  onError,
  placed,
}: {
  db: Database
  onError: (e: unknown) => void
  /** Called with the number of events sequenced for a tenant. */
  placed: (tenant: TenantId, count: number) => void
}) {
  const due = new Set<TenantId>()
  let isDraining = false
  let isStopped = false
  let drained: Promise<void> = Promise.resolve()

  async function step(tenant: TenantId): Promise<number | null> {
    const count = await db.inTenant(tenant, (tx) => sequence(tx, batch))
    if (count) placed(tenant, count)
    return count
  }
  /**
   * Another replica that holds the head may have begun before the newest events arrived, so the tenant becomes due
   * again.
   */
  async function drainOne(tenant: TenantId): Promise<void> {
    for (let i = 0; i < inATurn; i++) {
      const count = await step(tenant)
      if (count === null) due.add(tenant)
      if (count !== batch) return
    }
    due.add(tenant)
  }
  async function drain(): Promise<void> {
    while (due.size > 0 && !isStopped) {
      await delay(gatherMs)
      const tenants = [...due]
      due.clear()
      // The next sweep finds the rest.
      await eachTenant(tenants, drainOne).catch((e: unknown) => {
        if (!isAway(e)) onError(e)
      })
    }
    isDraining = false
  }
  function wake(tenant: TenantId): void {
    due.add(tenant)
    if (isDraining || isStopped) return
    isDraining = true
    drained = drain()
  }
  async function sweep(): Promise<void> {
    try {
      for (const tenant of await db.acrossTenants(tenantsWithArrivals)) wake(tenant)
    } catch (e) {
      if (!isAway(e)) onError(e)
    }
    again()
  }
  async function placeAll(tenant: TenantId): Promise<void> {
    let isHeld = false
    for (const until = performance.now() + longestWaitMs; performance.now() < until; ) {
      const count = await step(tenant)
      isHeld = count === null
      if (count !== null && count < batch) return
      if (isHeld) await delay(againMs)
    }
    if (isHeld) throw held()
  }
  /** Readers of one replica share a run. Many runs at once would block each other until one fails. */
  const looks = new Map<TenantId, { now: Promise<void>; next: Promise<void> | undefined }>()
  function look(tenant: TenantId): Promise<void> {
    const own = { now: placeAll(tenant), next: undefined }
    looks.set(tenant, own)
    const end = () => {
      if (looks.get(tenant) === own) looks.delete(tenant)
    }
    own.now.then(end, end)
    return own.now
  }
  let timer: NodeJS.Timeout | undefined
  const again = () => {
    if (!isStopped) timer = setTimeout(sweep, sweepMs).unref()
  }

  return {
    wake,
    /** Assigns sequence numbers to the events of one report, within the transaction or right after it. */
    place: async (tx: Tx, events: readonly [Arrival, ...Arrival[]]): Promise<void> => {
      const { given, waits } = await place(tx, events)
      db.afterCommit(tx, () => {
        placed(events[0].tenant_id, given)
        if (waits) wake(events[0].tenant_id)
      })
    },
    start: again,
    /** Unsequenced events of all tenants. */
    backlog: () => db.acrossTenants((tx) => backlogOf(tx, 10_000)),
    /**
     * Resolves once all events committed before have sequence numbers. If a backlog takes longer, only its beginning
     * has. Throws if another replica holds the head for that long.
     */
    catchUp: (tenant: TenantId): Promise<void> => {
      const known = looks.get(tenant)
      if (!known) return look(tenant)
      // An event committed after the run began may not be part of it.
      known.next ??= known.now.catch(() => {}).then(() => look(tenant))
      return known.next
    },
    stop: async (): Promise<void> => {
      isStopped = true
      clearTimeout(timer)
      await drained
    },
  }
}
