import { unseal, type Kek } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import { background } from '../../../db/database.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { sealContext } from '../credential.ts'
import { type ConnectorRow, findConnector } from '../connectors.queries.ts'
import { deleteDeadLetters, insertDeadLetters, nextReplaying } from '../dead-letters.queries.ts'
import { encode, uuidOf } from '../sinks/encode.ts'
import type { Encoded, Sent, SinkDeps, Target } from '../sinks/sink.ts'
import { sendTo } from '../sinks/sinks.ts'
import { createSize, mostEvents } from './batches.ts'
import { eventsAt, nextEvents, rangeOf } from './record.queries.ts'
import * as streams from './streams.queries.ts'

type Leased = streams.Leased
/** How sending ended: nothing is left, it was long enough for now, the lease is another's, or it can't go on. */
export type Ended =
  | { why: 'empty' | 'turn_over' | 'lost' }
  | (Extract<Sent, { outcome: 'later' | 'parked' }> & { why: 'stopped' })

/** So many events refused one after the other: it is not the events. */
const mostRefusedInARow = 20
/** A connector whose receiver refuses ever more is looked at by a person. */
const mostDeadLetters = 10_000
const replayAtOnce = 100

export type SendingDeps = SinkDeps & { db: Database; kek: Kek }

/** Sends what a stream has, batch by batch, until nothing is left or `until` (of `performance.now()`). */
export function createSending(deps: SendingDeps) {
  const { db, kek, syslogOrigin } = deps

  async function targetOf(c: ConnectorRow): Promise<Target> {
    const { kind, format, destination, credential_jwe: jwe } = c
    const credential = jwe === null ? undefined : (await unseal(kek, sealContext(c.connector_id), jwe)).toString()
    return { kind, format, destination, credential }
  }

  /** An export says where it begins and ends before it is sent. */
  async function prepare(leased: Leased): Promise<Leased | undefined> {
    const { tenant_id, from_at, to_at } = leased
    if (from_at === null || to_at === null || leased.until_seq !== null) return leased
    const range = await db.inTenant(tenant_id, (tx) => rangeOf(tx, tenant_id, from_at, to_at), background)
    const isSet = await db.inTenant(tenant_id, (tx) => streams.setRange(tx, leased, range))
    return isSet ? { ...leased, ...range } : undefined
  }

  const deadLetter = (leased: Leased, e: Encoded, reason: string) => ({
    tenant_id: leased.tenant_id,
    connector_id: leased.connector_id,
    ...{ seq: e.seq, event_id: uuidOf(e), kind: e.kind, reason, failed_at: deps.now() },
  })

  /** What became of a batch is written down under the lease; false where that is another's. */
  const keep = (leased: Leased, p: streams.Progress, refused: readonly (readonly [Encoded, string])[]) =>
    db.inTenant(leased.tenant_id, async (tx) => {
      if (!(await streams.advance(tx, leased, p))) return false
      if (refused.length === 0) return true
      const added = await insertDeadLetters(
        tx,
        refused.map(([e, reason]) => deadLetter(leased, e, reason)),
      )
      await streams.countDead(tx, leased, { refused: refused.length, added })
      return true
    })

  /** Dead letters that are to be sent again go before what is new; whoever refused them may refuse them again. */
  async function replay(leased: Leased, target: Target, name: string, signal: AbortSignal): Promise<Ended | undefined> {
    const { tenant_id } = leased
    for (;;) {
      const rows = await db.inTenant(tenant_id, (tx) => nextReplaying(tx, leased, replayAtOnce))
      if (rows.length === 0) {
        return (await db.inTenant(tenant_id, (tx) => streams.endReplay(tx, leased))) ? undefined : { why: 'lost' }
      }
      const places = rows.map((row) => row.seq)
      const found = await db.inTenant(tenant_id, (tx) => eventsAt(tx, tenant_id, places))
      const gone = places.filter((seq) => !found.some((e) => e.seq === seq))
      const size = createSize()
      let left = found.map((e) => encode(target, e, syslogOrigin))
      const taken: number[] = [...gone]
      const refused: [Encoded, string][] = []
      while (left.length > 0) {
        const batch = size.next(name, left)
        const sent = await sendTo(deps, target, batch, signal)
        if (sent.outcome === 'later' || sent.outcome === 'parked') return { ...sent, why: 'stopped' }
        if (sent.outcome === 'refused' && batch.events.length > 1) {
          size.refused(batch.events.length)
          continue
        }
        for (const [i, e] of batch.events.entries()) {
          const reason = sent.outcome === 'refused' ? sent.answer : sent.refused?.get(i)
          if (reason === undefined) taken.push(e.seq)
          else refused.push([e, reason])
        }
        left = left.slice(batch.events.length)
        size.taken()
      }
      const isKept = await db.inTenant(tenant_id, async (tx) => {
        if (!(await streams.renewLease(tx, leased))) return false
        const deleted = await deleteDeadLetters(tx, leased, taken)
        if (refused.length > 0)
          await insertDeadLetters(
            tx,
            refused.map(([e, reason]) => deadLetter(leased, e, reason)),
          )
        return streams.countReplayed(tx, leased, { deleted, taken: taken.length - gone.length })
      })
      if (!isKept) return { why: 'lost' }
    }
  }

  return async (given: Leased, { until, signal }: { until: number; signal: AbortSignal }): Promise<Ended> => {
    const { tenant_id } = given
    const connector = await db.inTenant(tenant_id, (tx) => findConnector(tx, tenant_id, given.connector_id))
    if (!connector) return { why: 'lost' }
    const target = await targetOf(connector)
    const name = encodeId(given.from_at === null ? 'siem_connector' : 'siem_export', given.stream_id)
    const leased = await prepare(given)
    if (!leased) return { why: 'lost' }
    if (leased.replays) {
      const ended = await replay(leased, target, name, signal)
      if (ended) return ended
    }
    const size = createSize()
    let after = leased.after_seq ?? 0
    let inARow = leased.refused_in_a_row
    let attempts = 0
    let left: Encoded[] = []
    while (performance.now() < until) {
      if (left.length === 0) {
        const part = { ...leased, after_seq: after }
        const found = await db.inTenant(tenant_id, (tx) => nextEvents(tx, tenant_id, part, mostEvents))
        left = found.map((e) => encode(target, e, syslogOrigin))
        if (left.length === 0) return { why: 'empty' }
      }
      const batch = size.next(name, left)
      const sent = await sendTo(deps, target, batch, signal)
      if (sent.outcome === 'later' || sent.outcome === 'parked') return { ...sent, why: 'stopped' }
      if (sent.outcome === 'refused' && batch.events.length > 1) {
        attempts++
        size.refused(batch.events.length)
        continue
      }
      const refused = batch.events.flatMap((e, i) => {
        const reason = sent.outcome === 'refused' ? sent.answer : sent.refused?.get(i)
        return reason === undefined ? [] : [[e, reason] as const]
      })
      const taken = batch.events.length - refused.length
      inARow = taken > 0 ? 0 : inARow + refused.length
      if (sent.outcome === 'refused') attempts++
      const to = batch.events.at(-1)!.seq
      const progress = { from: after, to, taken, refusedInARow: inARow, attempts }
      if (!(await keep(leased, progress, refused))) return { why: 'lost' }
      if (inARow >= mostRefusedInARow)
        return stopped(`The receiver refused ${inARow} events one after the other, the last one so: ${refused.at(-1)?.[1]}`)
      if (refused.length > 0 && (await deadLettersOf(leased)) >= mostDeadLetters)
        return stopped(`There are ${mostDeadLetters} dead letters. Send them again or delete the connector.`)
      ;[after, attempts] = [to, 0]
      left = left.slice(batch.events.length)
      size.taken()
    }
    return { why: 'turn_over' }
  }

  async function deadLettersOf({ tenant_id, connector_id }: Leased): Promise<number> {
    const live = await db.inTenant(tenant_id, (tx) => streams.findStream(tx, { tenant_id, stream_id: connector_id }))
    return live?.dead ?? 0
  }
}
export type Sending = ReturnType<typeof createSending>

const stopped = (answer: string): Ended => ({ why: 'stopped', outcome: 'parked', answer })
