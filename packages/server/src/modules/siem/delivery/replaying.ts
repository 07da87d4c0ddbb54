import type { Database } from '../../../db/database.ts'
import { deleteDeadLetters, insertDeadLetters, nextReplaying } from '../dead-letters.queries.ts'
import { encode } from '../sinks/encode.ts'
import type { SinkDeps, Target } from '../sinks/sink.ts'
import { sendTo } from '../sinks/sinks.ts'
import { createSize } from './batches.ts'
import { deadLettersOf } from './dead-letter.ts'
import { eventsAt } from './record.queries.ts'
import { type Ended, type Refused, sorted, type Turn } from './results.ts'
import type { Leased } from './streams.queries.ts'
import * as streams from './streams.queries.ts'

const atOnce = 100

/**
 * Sends dead letters that are to be sent again. Those that are taken are none any more, and neither are those whose
 * events retention has deleted. What became of a batch is written down before the next one is sent.
 */
export const createReplaying = (deps: SinkDeps & { db: Database }) => {
  const { db, now, syslogOrigin } = deps

  type Became = { taken: readonly number[]; refused: Refused; forgotten: readonly number[] }
  /** False where the lease is another's. */
  const keep = (leased: Leased, { taken, refused, forgotten }: Became): Promise<boolean> =>
    db.inTenant(leased.tenant_id, async (tx) => {
      if (!(await streams.renewLease(tx, leased))) return false
      const deleted = await deleteDeadLetters(tx, leased, [...taken, ...forgotten])
      if (refused.length > 0) await insertDeadLetters(tx, deadLettersOf(leased, refused, now()))
      return streams.countReplayed(tx, leased, { deleted, taken: taken.length, lost: forgotten.length })
    })

  return async (leased: Leased, target: Target, name: string, { until, signal }: Turn): Promise<Ended> => {
    const { tenant_id } = leased
    for (;;) {
      const rows = await db.inTenant(tenant_id, (tx) => nextReplaying(tx, leased, atOnce))
      if (rows.length === 0)
        return { why: (await db.inTenant(tenant_id, (tx) => streams.endReplay(tx, leased))) ? 'empty' : 'lost' }
      const places = rows.map((row) => row.seq)
      const found = await db.inTenant(tenant_id, (tx) => eventsAt(tx, tenant_id, places))
      let left = found.map((e) => encode(target, e, syslogOrigin))
      const there = new Set(left.map((e) => e.seq))
      // What lies behind the last one found may only not have been read.
      const reached = left.at(-1)?.seq ?? Number.POSITIVE_INFINITY
      const forgotten = places.filter((seq) => seq < reached && !there.has(seq))
      if (forgotten.length > 0 && !(await keep(leased, { taken: [], refused: [], forgotten }))) return { why: 'lost' }
      for (const size = createSize(); left.length > 0; ) {
        if (performance.now() >= until) return { why: 'turn_over' }
        const batch = size.next(name, left)
        const sent = await sendTo(deps, target, batch, signal)
        if (sent.outcome === 'later' || sent.outcome === 'parked') return { ...sent, why: 'stopped' }
        const parts = sorted(batch, sent)
        size.tried(batch, parts !== undefined)
        if (!parts) continue
        const taken = parts.taken.map((e) => e.seq)
        if (!(await keep(leased, { taken, refused: parts.refused, forgotten: [] }))) return { why: 'lost' }
        left = left.slice(batch.events.length)
      }
    }
  }
}
