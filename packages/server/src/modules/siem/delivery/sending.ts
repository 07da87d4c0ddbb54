import type { Kek } from '@holdfast/crypto'
import { background, type Database } from '../../../db/database.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { findConnector } from '../connectors.queries.ts'
import { openTarget } from '../credential.ts'
import {
  type DeadLetterRow,
  deleteDeadLetters,
  insertDeadLetters,
  nextReplaying,
  putBack,
} from '../dead-letters.queries.ts'
import { encode, uuidOfEvent } from '../sinks/encode.ts'
import type { Encoded, EventBatch, Sent, SinkDeps, SinkTarget } from '../sinks/sink.ts'
import { sendTo } from '../sinks/sinks.ts'
import { createAdaptiveBatch, mostEvents } from './batches.ts'
import type { Notices } from './notices.ts'
import { lastPlace, nextEvents, recordAt, recordRange } from './record.queries.ts'
import type { BatchProgress, BatchSizing, Leased, StreamRow } from './streams.queries.ts'
import * as streams from './streams.queries.ts'

/** After this number of consecutive refused events the fault is not in the events. */
const mostRefusedInARow = 20
/** At this number of dead letters the connector is parked, so that a person looks at it. */
const mostDeadLetters = 10_000

type SendingDeps = SinkDeps & { db: Database; kek: Kek; notices: Pick<Notices, 'deadLetters'> }

/** Time that a stream is served in one go. */
type DeliveryTurn = {
  /** In terms of `performance.now()`. */
  until: number
  signal: AbortSignal
}

/** Tools for sending a stream in its turn. `attempt` sends the next batch of these events. */
type Means = {
  target: SinkTarget
  attempt: (events: readonly Encoded[]) => Promise<{ batch: EventBatch; sent: Sent }>
  pace: Pick<ReturnType<typeof createAdaptiveBatch>, 'taken'>
  until: number
}

/** Why sending ended: nothing is left, the turn is over, another replica has the lease, or it cannot continue. */
export type SendingEnd =
  | { why: 'empty' | 'turn_over' | 'lost' }
  | { why: 'replay_waits'; waitMs?: number }
  | (Extract<Sent, { outcome: 'later' | 'parked' }> & { why: 'stopped' })

const stopped = (answer: string): SendingEnd => ({ why: 'stopped', outcome: 'parked', answer })

type RefusedEvents = readonly (readonly [event: Encoded, reason: string])[]

/**
 * Splits a batch into delivered and refused events. Undefined if none was delivered and there are several: some of them
 * may be good.
 */
function sorted(batch: EventBatch, sent: Extract<Sent, { outcome: 'taken' | 'refused' | 'parked' }>) {
  if (sent.outcome !== 'taken' && batch.events.length > 1) return undefined
  const reasonOf = (i: number) => (sent.outcome === 'taken' ? sent.refused?.get(i) : sent.answer)
  const refused: RefusedEvents = batch.events.flatMap((e, i) => {
    const reason = reasonOf(i)
    return reason === undefined ? [] : [[e, reason] as const]
  })
  return { taken: batch.events.filter((_, i) => reasonOf(i) === undefined), refused }
}

/** Returns the dead letters of refused events: their sequence numbers, and the reasons. */
const deadLettersOf = (
  { tenant_id, connector_id, from_at }: Pick<StreamRow, 'tenant_id' | 'connector_id' | 'from_at'>,
  refused: RefusedEvents,
  failed_at: Date,
): Omit<DeadLetterRow, 'replaying'>[] =>
  refused.map(([event, reason]) => ({
    tenant_id,
    connector_id,
    seq: event.seq,
    event_id: uuidOfEvent(event),
    kind: event.kind,
    reason,
    failed_at,
    of_export: from_at !== null,
  }))

/**
 * Counts the sequence numbers without an event up to a number, starting beyond the furthest position so far. An export
 * counts none: it covers a period, and states its number of events.
 */
function countLost({ from_at, furthest_seq }: Pick<StreamRow, 'from_at' | 'furthest_seq'>) {
  let furthest = furthest_seq
  return (to: number, events: readonly Pick<Encoded, 'seq'>[]): number => {
    const lost = to - furthest - events.filter(({ seq }) => seq > furthest).length
    furthest = Math.max(furthest, to)
    return from_at === null ? Math.max(0, lost) : 0
  }
}

/**
 * Name prefix of the messages of a stream. A repeated run gets another one, because a receiver would discard messages
 * that it knows.
 */
function nameOf({ from_at, stream_id, runs }: StreamRow): string {
  const id = encodeId(from_at === null ? 'siem_connector' : 'siem_export', stream_id)
  return runs > 0 ? `${id}.${runs}` : id
}

/** Most dead letters that are read at once. */
const mostReplayed = 100
/** After this number of consecutive failed attempts, an event that is sent alone is not tried any more. */
const mostFailures = 5

/**
 * Sends dead letters again. One that is delivered is deleted, and so is one whose event retention has deleted. The
 * result of a batch is stored before the next one is sent. A replay that cannot go on now waits by itself, and does not
 * delay new events. An event that fails alone is put back, so that it does not block the others.
 */
const createReplaying = ({ db, now, syslogOrigin }: SinkDeps & { db: Database }) => {
  type Became = { taken?: readonly number[]; putBack?: RefusedEvents; forgotten?: readonly number[]; isWell?: boolean }
  /** False if another replica has the lease. */
  function keep(leased: Leased, pace: Means['pace'], became: Became): Promise<boolean> {
    const { taken = [], putBack: back = [], forgotten = [], isWell = true } = became
    const went = pace.taken()
    return db.inTenant(leased.tenant_id, async (tx) => {
      if (!(await streams.renewLease(tx, leased))) return false
      const deletedLetters = await deleteDeadLetters(tx, leased, forgotten)
      const deleted = (await deleteDeadLetters(tx, leased, taken)).length + deletedLetters.length
      await putBack(tx, leased, back, now())
      const lost = deletedLetters.filter((one) => !one.of_export).length
      return streams.countReplayed(tx, leased, { deleted, taken: taken.length, lost, isWell }, went)
    })
  }

  return async (leased: Leased, { target, attempt, pace, until }: Means): Promise<SendingEnd> => {
    const { tenant_id } = leased
    let failures = leased.replay_failures
    for (;;) {
      const rows = await db.inTenant(tenant_id, (tx) => nextReplaying(tx, leased, mostReplayed))
      if (rows.length === 0)
        return { why: (await db.inTenant(tenant_id, (tx) => streams.endReplay(tx, leased))) ? 'empty' : 'lost' }
      const places = rows.map((row) => row.seq)
      const found = await db.inTenant(tenant_id, (tx) => recordAt(tx, tenant_id, places))
      let left = found.map((e) => encode(target, e, syslogOrigin))
      const there = new Set(left.map((e) => e.seq))
      // Events after the last one found may just not have been read.
      const reached = left.at(-1)?.seq ?? Number.POSITIVE_INFINITY
      const forgotten = places.filter((seq) => seq < reached && !there.has(seq))
      if (forgotten.length > 0 && !(await keep(leased, pace, { forgotten, isWell: false }))) return { why: 'lost' }
      while (left.length > 0) {
        if (performance.now() >= until) return { why: 'turn_over' }
        const { batch, sent } = await attempt(left)
        if (sent.outcome === 'later' || sent.outcome === 'parked') {
          const isHopeless = sent.outcome === 'parked' || failures >= mostFailures
          const alone = batch.events.length === 1 && isHopeless ? batch.events[0] : undefined
          if (alone && !(await keep(leased, pace, { putBack: [[alone, sent.answer]], isWell: false })))
            return { why: 'lost' }
          return { why: 'replay_waits', ...(sent.outcome === 'later' && { waitMs: sent.waitMs ?? 0 }) }
        }
        const parts = sorted(batch, sent)
        if (!parts) continue
        failures = 0
        const taken = parts.taken.map((e) => e.seq)
        if (!(await keep(leased, pace, { taken, putBack: parts.refused }))) return { why: 'lost' }
        left = left.slice(batch.events.length)
      }
    }
  }
}

/** Sends the events of a stream in batches, until nothing is left or its turn is over. */
export function createSending(deps: SendingDeps) {
  const { db, kek, notices, now, syslogOrigin } = deps
  const replay = createReplaying(deps)

  /** Stores the range of an export before its first batch. Undefined if another replica has the lease. */
  async function prepared(leased: Leased): Promise<Leased | undefined> {
    const { tenant_id, from_at, to_at } = leased
    if (from_at === null || to_at === null || leased.until_seq !== null) return leased
    const range = await db.inTenant(tenant_id, (tx) => recordRange(tx, tenant_id, from_at, to_at), background)
    const isSet = await db.inTenant(tenant_id, (tx) => streams.setRange(tx, leased, range))
    return isSet ? { ...leased, ...range } : undefined
  }

  type Parts = { taken: readonly Encoded[]; refused: RefusedEvents }
  /**
   * Stores the result of a batch under the lease. Returns the number of dead letters of the connector, 0 if that was
   * not needed, or undefined if another replica has the lease. Delivered events are removed from the dead streams.
   */
  function keep(leased: Leased, progress: BatchProgress, pace: Means['pace'], { taken, refused }: Parts) {
    const went = pace.taken()
    return db.inTenant(leased.tenant_id, async (tx): Promise<number | undefined> => {
      // A change of dead letters requires the lock of the connector's stream, before that of an export.
      const isOwn = leased.from_at === null
      const some = refused.length > 0 || (!isOwn && (await streams.deadOf(tx, leased)) > 0)
      if (some) await streams.lockStream(tx, { tenant_id: leased.tenant_id, stream_id: leased.connector_id })
      const advanced = await streams.advance(tx, leased, progress, went)
      if (!advanced) return undefined
      if (!some && !(isOwn && advanced.dead > 0)) return 0
      const places = taken.map((e) => e.seq)
      const deleted = (await deleteDeadLetters(tx, leased, places)).length
      if (deleted === 0 && refused.length === 0) return 0
      const added = await insertDeadLetters(tx, deadLettersOf(leased, refused, now()))
      const dead = await streams.countDead(tx, leased, { refused: refused.length, change: added - deleted })
      if (added > 0 && dead === added) await notices.deadLetters(tx, leased, refused.at(-1)?.[1] ?? '')
      return dead
    })
  }

  async function sendRecord(leased: Leased, { target, attempt, pace, until }: Means): Promise<SendingEnd> {
    const { tenant_id } = leased
    const began = leased.after_seq ?? 0
    let [from, inARow] = [began, leased.refused_in_a_row]
    const lostUpTo = countLost(leased)
    let left: Encoded[] = []
    let untaken: string | undefined
    while (performance.now() < until) {
      if (left.length === 0) {
        const part = { ...leased, after_seq: from }
        const { found, end } = await db.inTenant(tenant_id, async (tx) => {
          // The head is read first: no event before it can appear later.
          const end = await lastPlace(tx, tenant_id)
          return { end, found: await nextEvents(tx, tenant_id, part, mostEvents) }
        })
        if (found.length === 0 && end > from && leased.from_at === null) {
          const passed = { from, to: end, taken: 0, lost: lostUpTo(end, []), refusedInARow: inARow }
          const isKept = (await keep(leased, passed, pace, { taken: [], refused: [] })) !== undefined
          return { why: isKept ? 'empty' : 'lost' }
        }
        if (found.length === 0) return { why: 'empty' }
        left = found.map((e) => encode(target, e, syslogOrigin))
      }
      const { batch, sent } = await attempt(left)
      if (sent.outcome === 'later' || (sent.outcome === 'parked' && batch.events.length === 1))
        return { ...sent, why: 'stopped' }
      const parts = sorted(batch, sent)
      if (!parts) {
        untaken = sent.answer
        continue
      }
      const { taken, refused } = parts
      inARow = taken.length > 0 ? 0 : inARow + refused.length
      const to = batch.events.at(-1)?.seq ?? from
      const progress = { from, to, taken: taken.length, lost: lostUpTo(to, batch.events), refusedInARow: inARow }
      const dead = await keep(leased, progress, pace, parts)
      if (dead === undefined) return { why: 'lost' }
      if (inARow >= mostRefusedInARow)
        return stopped(`The receiver refused ${inARow} events in a row. Its last answer: ${refused.at(-1)?.[1]}`)
      if (refused.length > 0 && dead >= mostDeadLetters)
        return stopped(`There are ${dead} dead letters, which is the maximum.`)
      from = to
      left = left.slice(batch.events.length)
    }
    // A turn in which nothing was accepted counts as a failure, even if each answer was slow.
    if (untaken === undefined || from > began) return { why: 'turn_over' }
    return { why: 'stopped', outcome: 'later', answer: untaken }
  }

  return async (given: Leased, { until, signal }: DeliveryTurn): Promise<{ ended: SendingEnd; pace: BatchSizing }> => {
    const { tenant_id, connector_id } = given
    const pace = createAdaptiveBatch(given)
    const as = (ended: SendingEnd) => ({ ended, pace: pace.taken() })
    const connector = await db.inTenant(tenant_id, (tx) => findConnector(tx, tenant_id, connector_id))
    if (!connector) return as({ why: 'lost' })
    if (!connector.enabled) return as(stopped('The connector is disabled.'))
    const target = await openTarget(kek, connector)
    const name = nameOf(given)
    const leased = await prepared(given)
    if (!leased) return as({ why: 'lost' })
    const attempt = async (events: readonly Encoded[]) => {
      const batch = pace.next(name, events)
      const began = performance.now()
      const sent = await sendTo(deps, target, batch, signal)
      pace.tried(batch, sent, performance.now() - began)
      return { batch, sent }
    }
    const means = { target, attempt, pace, until }
    const ended = await sendRecord(leased, means)
    // Only once no new event is left, so that a dead letter that cannot be sent does not delay any.
    return as(ended.why === 'empty' && leased.replays_now ? await replay(leased, means) : ended)
  }
}
export type Sending = ReturnType<typeof createSending>
