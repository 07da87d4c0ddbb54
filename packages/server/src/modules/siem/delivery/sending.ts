import type { Kek } from '@holdfast/crypto'
import { background, type Database } from '../../../db/database.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { findConnector } from '../connectors.queries.ts'
import { openTarget } from '../credential.ts'
import { deleteDeadLetters, insertDeadLetters } from '../dead-letters.queries.ts'
import { encode } from '../sinks/encode.ts'
import type { Encoded, SinkDeps } from '../sinks/sink.ts'
import { sendTo } from '../sinks/sinks.ts'
import { createAdaptiveBatch, mostEvents } from './batches.ts'
import { deadLettersOf } from './dead-letter.ts'
import * as letters from './letters.queries.ts'
import type { Notices } from './notices.ts'
import { lastPlace, nextEvents, recordRange } from './record.queries.ts'
import { createReplaying } from './replaying.ts'
import { type DeliveryTurn, type Means, type RefusedEvents, type SendingEnd, sorted, stopped } from './results.ts'
import type { BatchProgress, BatchSizing, Leased, StreamRow } from './streams.queries.ts'
import * as streams from './streams.queries.ts'

/** After this number of consecutive refused events the fault is not in the events. */
const mostRefusedInARow = 20
/** At this number of dead letters the connector is parked, so that a person looks at it. */
const mostDeadLetters = 10_000

type SendingDeps = SinkDeps & { db: Database; kek: Kek; notices: Pick<Notices, 'deadLetters'> }

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
   * not needed, or undefined if another replica has the lease. Delivered events are removed from the dead letters.
   */
  function keep(leased: Leased, progress: BatchProgress, pace: Means['pace'], { taken, refused }: Parts) {
    const went = pace.taken()
    return db.inTenant(leased.tenant_id, async (tx): Promise<number | undefined> => {
      // A change of dead letters requires the lock of the connector's stream, before that of an export.
      const isOwn = leased.from_at === null
      const some = refused.length > 0 || (!isOwn && (await letters.deadOf(tx, leased)) > 0)
      if (some) await streams.lockStream(tx, { tenant_id: leased.tenant_id, stream_id: leased.connector_id })
      const advanced = await streams.advance(tx, leased, progress, went)
      if (!advanced) return undefined
      if (!some && !(isOwn && advanced.dead > 0)) return 0
      const places = taken.map((e) => e.seq)
      const deleted = (await deleteDeadLetters(tx, leased, places)).length
      if (deleted === 0 && refused.length === 0) return 0
      const added = await insertDeadLetters(tx, deadLettersOf(leased, refused, now()))
      const dead = await letters.countDead(tx, leased, { refused: refused.length, change: added - deleted })
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
