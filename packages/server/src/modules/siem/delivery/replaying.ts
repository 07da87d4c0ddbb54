import type { Database } from '../../../db/database.ts'
import { deleteDeadLetters, nextReplaying, putBack } from '../dead-letters.queries.ts'
import { encode } from '../sinks/encode.ts'
import type { SinkDeps } from '../sinks/sink.ts'
import * as letters from './letters.queries.ts'
import { recordAt } from './record.queries.ts'
import { type Means, type RefusedEvents, type SendingEnd, sorted } from './results.ts'
import { type Leased, renewLease } from './streams.queries.ts'

const atOnce = 100
/** After this number of consecutive failed attempts, an event that is sent alone is not tried any more. */
const mostFailures = 5

/**
 * Sends dead letters again. One that is delivered is deleted, and so is one whose event retention has deleted. The
 * result of a batch is stored before the next one is sent. A replay that cannot go on now waits by itself, and does not
 * delay new events. An event that fails alone is put back, so that it does not block the others.
 */
export const createReplaying = ({ db, now, syslogOrigin }: SinkDeps & { db: Database }) => {
  type Became = { taken?: readonly number[]; putBack?: RefusedEvents; forgotten?: readonly number[]; isWell?: boolean }
  /** False if another replica has the lease. */
  function keep(leased: Leased, pace: Means['pace'], became: Became): Promise<boolean> {
    const { taken = [], putBack: back = [], forgotten = [], isWell = true } = became
    const went = pace.taken()
    return db.inTenant(leased.tenant_id, async (tx) => {
      if (!(await renewLease(tx, leased))) return false
      const deletedLetters = await deleteDeadLetters(tx, leased, forgotten)
      const deleted = (await deleteDeadLetters(tx, leased, taken)).length + deletedLetters.length
      await putBack(tx, leased, back, now())
      const lost = deletedLetters.filter((one) => !one.of_export).length
      return letters.countReplayed(tx, leased, { deleted, taken: taken.length, lost, isWell }, went)
    })
  }

  return async (leased: Leased, { target, attempt, pace, until }: Means): Promise<SendingEnd> => {
    const { tenant_id } = leased
    let failures = leased.replay_failures
    for (;;) {
      const rows = await db.inTenant(tenant_id, (tx) => nextReplaying(tx, leased, atOnce))
      if (rows.length === 0)
        return { why: (await db.inTenant(tenant_id, (tx) => letters.endReplay(tx, leased))) ? 'empty' : 'lost' }
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
