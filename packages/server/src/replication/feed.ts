import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { TenantId } from '../kernel/actor.ts'
import { AppError } from '../kernel/app-error.ts'
import { type Change, type Changes, everything, type Moment } from './changes.ts'
import type { Clock } from './clock.ts'
import {
  connectFeed,
  type FeedConnection,
  type LoggedChange,
  type LogPlace,
  type Mail,
  type TenantPosition,
} from './feed-connection.ts'
import { createFollowedTenants } from './followed-tenants.ts'
import { untilTick } from './timers.ts'

/** Time in ms for which the cache counts as fresh after the last proof. */
const freshMs = 1000
const page = 5000
/** Beyond this many changes a tenant's cache is reloaded instead. */
const backlogMost = 50_000
const reconnectMs = { least: 50, most: 1000 }

/**
 * Keeps this replica's cache coherent. One connection listens; a notification names a tenant, whose changes are then
 * read. The heartbeat compares the epoch of every tenant with the applied one. So a lost notification is only a delay,
 * and an unanswered heartbeat makes `isFresh` false. If changes can't be followed one by one (a gap in the log, a long
 * backlog, a restored database), the cache is dropped and reloaded.
 */
export function createFeed(deps: {
  url: string
  changes: Changes
  clock: Clock
  log: { warn: (o: object, message: string) => void }
  /** Shared locks while the feed is connected, so that others see the running version. */
  presence?: readonly (readonly [number, number])[]
}) {
  const { url, changes, clock, log, presence = [] } = deps
  const replica = randomUUID().slice(0, 8)
  const followed = createFollowedTenants()
  const onBeat: (() => void)[] = []
  let connection: FeedConnection | undefined
  let database: string | undefined
  let provenAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let retryAt = 0
  let stopped = false
  let isBeating = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  // Work of the next turn.
  let compare = false
  const announced = new Map<TenantId, number>()
  const toAnnounce = new Map<TenantId, number>()
  let mail: Mail | undefined
  let hasMail = false

  changes.onCommit((tenant, position) => {
    followed.applied(tenant, position)
    toAnnounce.set(tenant, Math.max(position.seq, toAnnounce.get(tenant) ?? 0))
    void turn()
  })

  function hear(payload: string): void {
    const [from, named, seq] = payload.split('|')
    if (from === replica || named === undefined) return
    const tenant = named as TenantId
    announced.set(tenant, Math.max(Number(seq), announced.get(tenant) ?? 0))
    void turn()
  }

  async function connected(): Promise<FeedConnection> {
    if (connection?.isOpen()) return connection
    const made = await connectFeed(url, hear, presence, (payload) => mail?.onNotification(payload))
    if (stopped) made.close()
    connection = made
    // A comparison finds the changes notified while nobody listened.
    compare = true
    if (database !== undefined && database !== made.database) forgetAll('the database was replaced by another one')
    database = made.database
    mail?.connected()
    return made
  }

  function forgetAll(reason: string): void {
    log.warn({ reason }, 'caches reloaded')
    followed.clear()
    changes.forget(undefined)
  }
  function startAnew(tenant: TenantId, position: Moment): void {
    changes.forget(tenant)
    followed.start(tenant, position)
  }

  /** Applies the log up to a number. False if the log has a gap or too many changes. */
  async function apply(c: FeedConnection, tenant: TenantId, known: Moment, upTo: number): Promise<boolean> {
    if (upTo - known.seq > backlogMost) return false
    let after: LogPlace = { seq: known.seq + 1, kind: '', subject: everything }
    let next = known.seq + 1
    // The last number of a full page may continue on the next page. It is applied when the next page shows that it does
    // not.
    let open: Moment | undefined
    const close = (position: Moment) => {
      followed.applied(tenant, position)
      next = position.seq + 1
      open = undefined
    }
    for (let delivered = 0; delivered <= backlogMost; ) {
      const rows = await c.changesAfter(tenant, after, page)
      const isLast = rows.length < page
      const last = rows.at(-1)
      for (const [seq, part] of Map.groupBy(rows, (r) => r.seq)) {
        if (open && seq > open.seq) close(open)
        if (seq > next) return false
        const position = { seq, atMs: part[0]!.atMs }
        if (seq === last?.seq && !isLast) open = position
        else close(position)
        changes.tell(tenant, part satisfies Change[])
      }
      if (isLast) {
        if (open) close(open)
        return next > upTo
      }
      delivered += rows.length
      after = last! satisfies LoggedChange
    }
    return false
  }

  async function follow(c: FeedConnection, tenant: TenantId, upTo: number): Promise<void> {
    const known = followed.of(tenant)
    if (!known || upTo <= known.seq || (await apply(c, tenant, known, upTo))) return
    const position = await c.momentOf(tenant)
    log.warn({ tenant, known: known.seq, now: position?.seq }, 'changes missed; caches of the tenant reloaded')
    if (position) startAnew(tenant, position)
  }

  /** Handles a tenant with a lower number than the known one, or without a row: the database was restored. */
  async function checkBack(c: FeedConnection, tenant: TenantId): Promise<void> {
    const known = followed.of(tenant)
    const now = await c.momentOf(tenant)
    // Own commits since the start of the comparison are already known.
    if (!known || (now && now.seq >= known.seq)) return
    log.warn(
      { tenant, known: known.seq, now: now?.seq },
      'database restored to an earlier state; caches of the tenant reloaded',
    )
    if (now) await c.raise(tenant, followed.newestOf(tenant))
    followed.drop(tenant)
    const raised = now && (await c.momentOf(tenant))
    if (raised) startAnew(tenant, raised)
    else changes.forget(tenant)
  }

  async function compareOne(c: FeedConnection, [tenant, seq, atMs]: TenantPosition): Promise<void> {
    const known = followed.of(tenant)
    if (!known) startAnew(tenant, { seq, atMs })
    else if (seq > known.seq) await follow(c, tenant, seq)
    else if (seq < known.seq) await checkBack(c, tenant)
  }

  /**
   * Compares recently changed tenants one by one, the others by their sum. The sum differs after a restore, a deletion
   * or an unseen change; then all tenants are compared.
   */
  async function compareAll(c: FeedConnection): Promise<void> {
    const sentAt = performance.now()
    const before = followed.snapshot()
    const beat = await c.beat()
    clock.measured(beat.atMs, sentAt, performance.now())
    const isWhole = before.accountsFor(beat)
    for (const each of beat.recentTenants) await compareOne(c, each)
    if (!isWhole) {
      const all = await c.whereAllStand()
      for (const each of all) await compareOne(c, each)
      const seen = new Set(all.map(([tenant]) => tenant))
      for (const tenant of [...followed.tenants()]) if (!seen.has(tenant)) await checkBack(c, tenant)
    }
    provenAt = sentAt
  }

  async function work(): Promise<void> {
    const c = await connected()
    if (toAnnounce.size > 0) {
      const payloads = [...toAnnounce].map(([tenant, seq]) => `${replica}|${tenant}|${seq}`)
      toAnnounce.clear()
      await c.notify(payloads)
    }
    if (compare) {
      compare = false
      announced.clear()
      await compareAll(c)
    }
    for (const [tenant, seq] of [...announced]) {
      announced.delete(tenant)
      if (followed.of(tenant)) await follow(c, tenant, seq)
      else compare = true
    }
    if (hasMail && mail) {
      hasMail = false
      await c.signal(mail.take())
    }
    failures = 0
  }

  /** Runs one turn at a time. Work that arrives during a turn starts another one right after it. */
  function turn(): Promise<void> {
    if (running) return running
    if (stopped || performance.now() < retryAt) return Promise.resolve()
    running = work()
      .catch((e: Error) => {
        retryAt =
          performance.now() +
          Math.min(reconnectMs.most, reconnectMs.least * 2 ** failures++) * (0.5 + Math.random() / 2)
        log.warn({ err: e }, 'change feed lost its connection; reconnecting')
        connection?.close()
        connection = undefined
      })
      .finally(() => {
        running = undefined
        const hasMore = compare || announced.size > 0 || toAnnounce.size > 0 || hasMail
        if (hasMore && failures === 0 && !stopped) void turn()
      })
    return running
  }
  const comparison = () => {
    compare = true
    return turn()
  }

  const beat = async () => {
    isBeating = true
    await comparison()
    // Before the first answer of the database there is no time, and so nothing to run.
    if (provenAt >= 0) for (const f of onBeat) f()
    if (stopped) return
    timer = setTimeout(beat, failures === 0 ? untilTick() : Math.max(1, retryAt - performance.now() + 1))
  }

  return {
    /** Throws if the first comparison fails: without it no data can be served. */
    start: async () => {
      // A repeated start continues with its running heartbeat.
      await (isBeating ? comparison() : beat())
      if (provenAt < 0) throw new Error('the database did not answer the first comparison with the caches')
    },
    /** True if this replica's cache was compared with the database within the last second. */
    isFresh: () => performance.now() - provenAt <= freshMs,
    /** Milliseconds since that comparison. */
    ageMs: () => performance.now() - provenAt,
    /**
     * Compares with the database now, for a caller whose cache is not proven fresh or not new enough. Reconnects once
     * if the connection was lost. Throws while the database does not answer, so that no unproven data is served.
     */
    catchUp: async () => {
      const asked = performance.now()
      // The first comparison may have started before the call, the second may lose its connection.
      for (let n = 0; n < 3 && provenAt < asked; n++) {
        await comparison()
        if (provenAt < asked && failures === 1 && performance.now() - asked < freshMs)
          await delay(Math.max(0, retryAt - performance.now()) + 1)
      }
      if (provenAt < asked) throw new AppError('internal_error', 'unexpected server error', { retryAfterSeconds: 2 })
    },
    /** Position up to which all changes of the tenant are applied here. */
    momentOf: (tenant: TenantId): Moment => followed.of(tenant) ?? { seq: 0, atMs: 0 },
    /** True if the tenant exists, as of the last comparison. */
    knows: (tenant: TenantId): boolean => followed.of(tenant) !== undefined,
    seqOf: (tenant: TenantId): number => followed.of(tenant)?.seq ?? 0,
    /** The newest number known here. Own commits are known before earlier ones of other replicas. */
    newestOf: (tenant: TenantId): number => followed.newestOf(tenant),
    /** Runs `f` with every heartbeat. */
    onBeat: (f: () => void): void => {
      onBeat.push(f)
    },
    /** Sends messages of other parts to other replicas. Returns a function that announces more messages. */
    carry: (given: Mail): (() => void) => {
      mail = given
      return () => {
        hasMail = true
        void turn()
      }
    },
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await running
      connection?.close()
    },
  }
}
export type Feed = ReturnType<typeof createFeed>
