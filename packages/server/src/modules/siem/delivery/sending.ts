import type { Kek } from '@holdfast/crypto'
import { background, type Database } from '../../../db/database.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { findConnector } from '../connectors.queries.ts'
import { openTarget } from '../credential.ts'
import { insertDeadLetters } from '../dead-letters.queries.ts'
import { encode } from '../sinks/encode.ts'
import type { Encoded, SinkDeps, Target } from '../sinks/sink.ts'
import { sendTo } from '../sinks/sinks.ts'
import { createSize, mostEvents } from './batches.ts'
import { deadLettersOf } from './dead-letter.ts'
import { lastPlace, nextEvents, rangeOf } from './record.queries.ts'
import { createReplaying } from './replaying.ts'
import { type Ended, type Refused, sorted, stopped, type Turn } from './results.ts'
import type { Leased, Progress, StreamRow } from './streams.queries.ts'
import * as streams from './streams.queries.ts'

/** So many events refused one after the other: it is not the events. */
const mostRefusedInARow = 20
/** A connector whose receiver refuses ever more is looked at by a person. */
const mostDeadLetters = 10_000

type SendingDeps = SinkDeps & { db: Database; kek: Kek }

/**
 * How many places up to one have no event any more, beyond the furthest it was ever at. Of an export none counts: it is
 * of a time, and says how many events it has.
 */
function countLost({ from_at, furthest_seq }: Pick<StreamRow, 'from_at' | 'furthest_seq'>) {
  let furthest = furthest_seq
  return (to: number, events: readonly Pick<Encoded, 'seq'>[]): number => {
    const lost = to - furthest - events.filter(({ seq }) => seq > furthest).length
    furthest = Math.max(furthest, to)
    return from_at === null ? Math.max(0, lost) : 0
  }
}

/** Sends what a stream has, batch by batch, until nothing is left or its turn is over. */
export function createSending(deps: SendingDeps) {
  const { db, kek, now, syslogOrigin } = deps
  const replay = createReplaying(deps)

  /** An export says where it begins and ends before it is sent. Undefined: the lease is another's. */
  async function prepared(leased: Leased): Promise<Leased | undefined> {
    const { tenant_id, from_at, to_at } = leased
    if (from_at === null || to_at === null || leased.until_seq !== null) return leased
    const range = await db.inTenant(tenant_id, (tx) => rangeOf(tx, tenant_id, from_at, to_at), background)
    const isSet = await db.inTenant(tenant_id, (tx) => streams.setRange(tx, leased, range))
    return isSet ? { ...leased, ...range } : undefined
  }

  /**
   * What became of a batch is written down under the lease: says how many dead letters the connector has then, or
   * undefined where the lease is another's.
   */
  const keep = (leased: Leased, progress: Progress, refused: Refused): Promise<number | undefined> =>
    db.inTenant(leased.tenant_id, async (tx) => {
      // Whoever changes dead letters of a connector holds its stream, and that before an export's.
      if (refused.length > 0)
        await streams.lockStream(tx, { tenant_id: leased.tenant_id, stream_id: leased.connector_id })
      if (!(await streams.advance(tx, leased, progress))) return undefined
      if (refused.length === 0) return 0
      const added = await insertDeadLetters(tx, deadLettersOf(leased, refused, now()))
      return streams.countDead(tx, leased, { refused: refused.length, added })
    })

  async function sendRecord(leased: Leased, target: Target, name: string, { until, signal }: Turn): Promise<Ended> {
    const { tenant_id } = leased
    const size = createSize()
    let [from, inARow, attempts] = [leased.after_seq ?? 0, leased.refused_in_a_row, 0]
    const lostUpTo = countLost(leased)
    let left: Encoded[] = []
    while (performance.now() < until) {
      if (left.length === 0) {
        const part = { ...leased, after_seq: from }
        const { found, end } = await db.inTenant(tenant_id, async (tx) => {
          // In this order: of what is before this place nothing comes any more.
          const end = await lastPlace(tx, tenant_id)
          return { end, found: await nextEvents(tx, tenant_id, part, mostEvents) }
        })
        if (found.length === 0 && end > from && leased.from_at === null) {
          const lost = lostUpTo(end, [])
          const passed = { from, to: end, taken: 0, lost, refusedInARow: inARow, attempts }
          return (await keep(leased, passed, [])) === undefined ? { why: 'lost' } : { why: 'empty' }
        }
        left = found.map((e) => encode(target, e, syslogOrigin))
      }
      const batch = size.next(name, left)
      const last = batch.events.at(-1)
      if (!last) return { why: 'empty' }
      const sent = await sendTo(deps, target, batch, signal)
      if (sent.outcome === 'later' || sent.outcome === 'parked') return { ...sent, why: 'stopped' }
      const parts = sorted(batch, sent)
      size.tried(batch, parts !== undefined)
      if (sent.outcome === 'refused') attempts++
      if (!parts) continue
      const { taken, refused } = parts
      inARow = taken.length > 0 ? 0 : inARow + refused.length
      const lost = lostUpTo(last.seq, batch.events)
      const progress = { from, to: last.seq, taken: taken.length, lost, refusedInARow: inARow, attempts }
      const dead = await keep(leased, progress, refused)
      if (dead === undefined) return { why: 'lost' }
      if (inARow >= mostRefusedInARow)
        return stopped(`It refused ${inARow} events one after the other, the last one so: ${refused.at(-1)?.[1]}`)
      if (dead >= mostDeadLetters) return stopped(`There are ${dead} dead letters, more than are kept.`)
      from = last.seq
      attempts = 0
      left = left.slice(batch.events.length)
    }
    return { why: 'turn_over' }
  }

  return async (given: Leased, turn: Turn): Promise<Ended> => {
    const { tenant_id, connector_id, from_at, stream_id } = given
    const connector = await db.inTenant(tenant_id, (tx) => findConnector(tx, tenant_id, connector_id))
    if (!connector) return { why: 'lost' }
    if (!connector.enabled) return stopped('The connector is disabled.')
    const target = await openTarget(kek, connector)
    const name = encodeId(from_at === null ? 'siem_connector' : 'siem_export', stream_id)
    const leased = await prepared(given)
    if (!leased) return { why: 'lost' }
    const ended = await sendRecord(leased, target, name, turn)
    // Only once nothing new is left: a dead letter that can't be sent holds up none of it.
    return ended.why === 'empty' && leased.replays ? replay(leased, target, name, turn) : ended
  }
}
export type Sending = ReturnType<typeof createSending>
