import { setTimeout as delay } from 'node:timers/promises'
import { isAway } from '../../db/away.ts'
import type { Database, Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { second } from '../../kernel/time.ts'
import { type Arrival, backlogOf, place, sequence, tenantsWithArrivals } from './audit.queries.ts'

const batch = 1000
/** Full batches of one tenant before it is the turn of the others. */
const inATurn = 10
/** What is written within this time is given its places together. */
const gatherMs = 50
/** How often a replica looks for what others left, who ended before they gave it its place. */
const sweepMs = second
/** While another replica is at it. */
const againMs = 10
/** A reader waits this long at most for what was written before it came: longer than who stalls keeps a head. */
const longestWaitMs = 2 * second

const held = () =>
  new AppError('internal_error', 'another replica is writing the audit log of this tenant: try again', {
    retryAfterSeconds: 1,
  })

/**
 * Gives events their places: the sequence of a tenant grows in the order of commits, without gaps, whichever replica is
 * at it; each batch is one short transaction under the lock of the tenant's head, for which nobody waits.
 */
export function createSequencer({
  db,
  onError,
  placed,
}: {
  db: Database
  onError: (e: unknown) => void
  /** Told how many places of a tenant were given. */
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
  /** Whoever is at it elsewhere may have begun before what is due here was there: it comes again. */
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
      // What is left is found by the next sweep.
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
  /** Readers of one replica share a look: many of them at once would keep the head from each other until one fails. */
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
    /** With the transaction the events of one report get their places, or will have them right after. */
    place: async (tx: Tx, events: readonly [Arrival, ...Arrival[]]): Promise<void> => {
      const { given, waits } = await place(tx, events)
      db.afterCommit(tx, () => {
        placed(events[0].tenant_id, given)
        if (waits) wake(events[0].tenant_id)
      })
    },
    start: again,
    /** Of all tenants, what has no place yet. */
    backlog: () => db.acrossTenants((tx) => backlogOf(tx, 10_000)),
    /**
     * Until what was committed before has its place. Of a backlog that takes longer the beginning has; fails where
     * somebody else keeps the head for so long.
     */
    catchUp: (tenant: TenantId): Promise<void> => {
      const known = looks.get(tenant)
      if (!known) return look(tenant)
      // An event that was committed after the look began may have no place in it.
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
