import type { Database } from '../../../db/database.ts'
import { isAway } from '../../../db/unavailable.ts'
import { createLeasedWorker } from '../../../jobs/leased-worker.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { minute, second } from '../../../kernel/time.ts'
import type { Notices } from './notices.ts'
import type { Sending, SendingEnd } from './sending.ts'
import * as streams from './streams.queries.ts'

/** Interval at which a replica looks for events to send, and at which it looks at all tenants. */
const lookMs = second / 2
const sweepMs = 3 * second
/** Most streams that a replica sends at the same time, and most of those whose receiver failed or was slow. */
const mostAtOnce = 32
const mostFailing = 16
/** Length of a turn. Other streams go next. */
const turnMs = 10 * second
/** Delay after a failure: the shortest and the longest. */
const shortestWait = second / 4
const longestWait = minute

/** The delay doubles with each consecutive failure. Half of it is random, so that not all retry at once. */
const waitAfter = (failures: number): number => {
  const whole = Math.min(longestWait, shortestWait * 2 ** Math.min(failures, 10))
  return whole / 2 + (Math.random() * whole) / 2
}

type DeliveriesDeps = { db: Database; send: Sending; notices: Notices; onError: (e: unknown) => void }

/**
 * Delivers the audit log of each tenant to its connectors: one replica at a time for each connector, in order, at least
 * once.
 */
export function createRecordDeliveries({ db, send, notices, onError }: DeliveriesDeps) {
  const looks = createPollScheduler()
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> = Promise.resolve()
  const report = (e: unknown) => {
    if (!isAway(e)) onError(e)
  }

  async function finishTurn(leased: streams.Leased, ended: SendingEnd, pace: streams.BatchSizing): Promise<unknown> {
    const { tenant_id } = leased
    if (ended.why === 'lost') return
    const isOver = ended.why === 'empty' && leased.replays
    if (ended.why !== 'stopped' && (leased.failing_since !== null || isOver)) await notices.recovered(tenant_id)
    if (ended.why === 'empty' && leased.from_at !== null)
      return db.inTenant(tenant_id, (tx) => streams.finishExport(tx, leased, pace))
    if (ended.why === 'replay_waits') return waits(leased, ended.waitMs, pace)
    if (ended.why !== 'stopped') return free(leased, pace)
    if (ended.outcome === 'later') return later(leased, { problem: ended.answer, waitMs: ended.waitMs, pace })
    return db.inTenant(tenant_id, async (tx) => {
      if (await streams.park(tx, leased, ended.answer, pace)) await notices.parked(tx, leased, ended.answer)
    })
  }
  const free = (leased: streams.Leased, pace?: streams.BatchSizing) =>
    db.inTenant(leased.tenant_id, (tx) => streams.freeLease(tx, leased, pace))
  const waits = (leased: streams.Leased, waitMs: number | undefined, pace: streams.BatchSizing) =>
    db.inTenant(leased.tenant_id, async (tx) => {
      const now = await streams.lockStream(tx, leased)
      const wait = Math.max(waitMs ?? 0, waitAfter(now?.replay_failures ?? 0))
      await streams.postponeReplay(tx, leased, wait, pace)
      db.afterCommit(tx, () => looks.wake(leased.tenant_id, wait))
    })
  type Later = { problem: string; waitMs?: number | undefined; pace: streams.BatchSizing }
  /** The row has the count of consecutive failures: a batch accepted in this turn has reset it. */
  const later = (leased: streams.Leased, { problem, waitMs = 0, pace }: Later) =>
    db.inTenant(leased.tenant_id, async (tx) => {
      const before = await streams.lockStream(tx, leased)
      const wait = Math.max(waitMs, waitAfter(before?.failures ?? 0))
      const now = await streams.postponeStream(tx, leased, { problem, waitMs: wait, pace })
      if (!now) return
      db.afterCommit(tx, () => looks.wake(leased.tenant_id, wait))
      await notices.failing(tx, now)
    })

  const worker = createLeasedWorker<streams.DueStream, streams.Leased>({
    nameOf: ({ tenant_id, stream_id }) => `${tenant_id}/${stream_id}`,
    take: (id) => db.inTenant(id.tenant_id, (tx) => streams.takeLease(tx, id)),
    renewal: {
      leaseMs: streams.leaseMs,
      renew: (leased) => db.inTenant(leased.tenant_id, (tx) => streams.renewLease(tx, leased)),
    },
    work: async (leased, signal) => {
      const { ended, pace } = await send(leased, { until: performance.now() + turnMs, signal })
      await finishTurn(leased, ended, pace)
    },
    // The next holder of the lease sends unconfirmed batches again.
    release: free,
    failed: (leased, e) => {
      report(e)
      const problem = 'The events were not sent because of an internal error: see the log of the server.'
      return later(leased, { problem, pace: { ...leased, attempts: 1 } })
    },
    ended: ({ tenant_id }) => looks.wake(tenant_id),
    onError: report,
  })

  async function look(): Promise<void> {
    const running = worker.keys()
    if (running.length >= mostAtOnce) return
    const failing = running.filter((stream) => stream.is_failing).length
    const most = { limit: mostAtOnce - running.length, failing: mostFailing - failing }
    const tenants = looks.next()
    if (!tenants) return
    const due = await db
      .acrossTenants((tx) => streams.dueStreams(tx, tenants, most))
      .catch((e: unknown) => {
        looks.again(tenants)
        throw e
      })
    const slow = due.filter((stream) => stream.is_failing).length
    if (due.length === most.limit || slow === most.failing) looks.again(tenants)
    for (const stream of due) void worker.start(stream)
  }
  function again(): void {
    if (worker.signal.aborted) return
    timer = setTimeout(() => {
      looking = look().catch(report).then(again)
    }, lookMs).unref()
  }

  return {
    start: again,
    /** Called when there are events to send in this tenant. */
    wake: (tenant: TenantId): void => looks.wake(tenant),
    /** Aborts the sending, and releases the streams to other replicas. */
    stop: async (): Promise<void> => {
      clearTimeout(timer)
      await Promise.all([worker.stop(), looking])
    },
  }
}

/** Decides which tenants a replica checks next for events to send. Most have none. Sequencing reports those that do. */
export function createPollScheduler() {
  const woken = new Set<TenantId>()
  let sweepAt = 0
  return {
    /** Called when there are events to send, now or after a time. */
    wake: (tenant: TenantId, afterMs = 0): void => {
      if (afterMs > 0) setTimeout(() => woken.add(tenant), afterMs).unref()
      else woken.add(tenant)
    },
    /** Undefined if there is nothing to check. */
    next: (): readonly TenantId[] | 'all' | undefined => {
      const isSweep = performance.now() >= sweepAt
      if (!isSweep && woken.size === 0) return undefined
      const tenants = [...woken]
      woken.clear()
      if (!isSweep) return tenants
      sweepAt = performance.now() + sweepMs
      return 'all'
    },
    /** Called if there were more streams than could be started, or if the query failed. */
    again: (tenants: readonly TenantId[] | 'all'): void => {
      if (tenants === 'all') sweepAt = 0
      else for (const tenant of tenants) woken.add(tenant)
    },
  }
}
