import type { Database } from '../../../db/database.ts'
import { isAway } from '../../../db/unavailable.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { newUuid } from '../../../kernel/ids.ts'
import { second } from '../../../kernel/time.ts'
import { waitAfter } from './backoff.ts'
import { postponeReplay } from './letters.queries.ts'
import type { Notices } from './notices.ts'
import { createPollScheduler } from './poll-scheduler.ts'
import type { SendingEnd } from './results.ts'
import type { Sending } from './sending.ts'
import * as streams from './streams.queries.ts'

/** Interval at which a replica looks for events to send. */
const lookMs = second / 2
/** Most streams that a replica sends at the same time, and most of those whose receiver failed or was slow. */
const mostAtOnce = 32
const mostFailing = 16
/** Length of a turn. Other streams go next. */
const turnMs = 10 * second
/** Interval at which a holder renews its lease, and the time without a renewal after which it stops sending. */
const renewMs = 3 * second
const silentMs = 8 * second

type DeliveriesDeps = { db: Database; send: Sending; notices: Notices; onError: (e: unknown) => void }

/**
 * Delivers the audit log of each tenant to its connectors: one replica at a time for each connector, in order, at least
 * once.
 */
export function createRecordDeliveries({ db, send, notices, onError }: DeliveriesDeps) {
  const stopping = new AbortController()
  const looks = createPollScheduler()
  const running = new Map<string, { served: Promise<void>; isFailing: boolean }>()
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> = Promise.resolve()

  /** Renews the lease every few seconds, and aborts the work once another replica may hold the lease. */
  function keep(leased: streams.Leased, lost: AbortController) {
    let saidAt = performance.now()
    let isAsking = false
    const say = async () => {
      if (performance.now() - saidAt > silentMs) return lost.abort()
      if (isAsking) return
      isAsking = true
      const askedAt = performance.now()
      try {
        if (await db.inTenant(leased.tenant_id, (tx) => streams.renewLease(tx, leased))) saidAt = askedAt
        else lost.abort()
      } catch (e) {
        if (!isAway(e)) onError(e)
      }
      isAsking = false
    }
    const saying = setInterval(say, renewMs).unref()
    return () => clearInterval(saying)
  }

  async function finishTurn(leased: streams.Leased, ended: SendingEnd, pace: streams.BatchSizing): Promise<void> {
    const { tenant_id } = leased
    if (ended.why === 'lost') return
    const isOver = ended.why === 'empty' && leased.replays
    if (ended.why !== 'stopped' && (leased.failing_since !== null || isOver)) await notices.recovered(tenant_id)
    if (ended.why === 'empty' && leased.from_at !== null)
      return void (await db.inTenant(tenant_id, (tx) => streams.finishExport(tx, leased, pace)))
    if (ended.why === 'replay_waits') return waits(leased, ended.waitMs, pace)
    if (ended.why !== 'stopped') return free(leased, pace)
    if (ended.outcome === 'later') return later(leased, { problem: ended.answer, waitMs: ended.waitMs, pace })
    await db.inTenant(tenant_id, async (tx) => {
      if (await streams.park(tx, leased, ended.answer, pace)) await notices.parked(tx, leased, ended.answer)
    })
  }
  const free = async (leased: streams.Leased, pace?: streams.BatchSizing) =>
    void (await db.inTenant(leased.tenant_id, (tx) => streams.freeLease(tx, leased, pace)))
  const waits = (leased: streams.Leased, waitMs: number | undefined, pace: streams.BatchSizing) =>
    db.inTenant(leased.tenant_id, async (tx) => {
      const now = await streams.lockStream(tx, leased)
      const wait = Math.max(waitMs ?? 0, waitAfter(now?.replay_failures ?? 0))
      await postponeReplay(tx, leased, wait, pace)
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

  async function serve(id: streams.StreamId): Promise<void> {
    const taken = await db.inTenant(id.tenant_id, (tx) => streams.takeLease(tx, id, newUuid()))
    if (!taken) return
    const lost = new AbortController()
    const letGo = keep(taken, lost)
    const signal = AbortSignal.any([stopping.signal, lost.signal])
    try {
      const { ended, pace } = await send(taken, { until: performance.now() + turnMs, signal })
      await finishTurn(taken, ended, pace)
    } catch (e) {
      // The next holder of the lease sends unconfirmed batches again.
      if (stopping.signal.aborted) return await free(taken)
      if (lost.signal.aborted) return
      if (!isAway(e)) onError(e)
      const problem = 'It was not sent because of an internal error; see the log of the server.'
      await later(taken, { problem, pace: { ...taken, attempts: 1 } })
    } finally {
      letGo()
    }
  }

  async function look(): Promise<void> {
    if (running.size >= mostAtOnce) return
    const failing = [...running.values()].filter(({ isFailing }) => isFailing).length
    const most = { limit: mostAtOnce - running.size, failing: mostFailing - failing }
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
    for (const { is_failing: isFailing, ...id } of due) {
      const key = `${id.tenant_id}/${id.stream_id}`
      if (running.has(key)) continue
      const served = serve(id)
        .catch((e: unknown) => {
          if (!isAway(e)) onError(e)
        })
        .finally(() => {
          running.delete(key)
          looks.wake(id.tenant_id)
        })
      running.set(key, { served, isFailing })
    }
  }
  function again(): void {
    if (stopping.signal.aborted) return
    timer = setTimeout(() => {
      looking = look()
        .catch((e: unknown) => {
          if (!isAway(e)) onError(e)
        })
        .then(again)
    }, lookMs).unref()
  }

  return {
    start: again,
    /** Called when there are events to send in this tenant. */
    wake: (tenant: TenantId): void => looks.wake(tenant),
    /** Aborts the sending, and releases the streams to other replicas. */
    stop: async (): Promise<void> => {
      stopping.abort()
      clearTimeout(timer)
      await looking
      await Promise.all([...running.values()].map(({ served }) => served))
    },
  }
}
