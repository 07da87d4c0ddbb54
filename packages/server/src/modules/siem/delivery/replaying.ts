import type { Database } from '../../../db/database.ts'
import { deleteDeadLetters, insertDeadLetters, nextReplaying } from '../dead-letters.queries.ts'
import { encode } from '../sinks/encode.ts'
import type { SinkDeps, Target } from '../sinks/sink.ts'
import { sendTo } from '../sinks/sinks.ts'
import { createSize } from './batches.ts'
import { deadLettersOf } from './dead-letter.ts'
import { eventsAt } from './record.queries.ts'
import { type Ended, type Refused, sorted } from './results.ts'
import type { Leased } from './streams.queries.ts'
import * as streams from './streams.queries.ts'

const atOnce = 100

/**
 * Sends dead letters that are to be sent again, before what is new. Those that are taken are none any more, and neither
 * are those whose events retention has deleted. Undefined: none is left.
 */
export const createReplaying = (deps: SinkDeps & { db: Database }) => {
  const { db, now, syslogOrigin } = deps

  return async (leased: Leased, target: Target, name: string, signal: AbortSignal): Promise<Ended | undefined> => {
    const { tenant_id } = leased
    for (;;) {
      const rows = await db.inTenant(tenant_id, (tx) => nextReplaying(tx, leased, atOnce))
      if (rows.length === 0)
        return (await db.inTenant(tenant_id, (tx) => streams.endReplay(tx, leased))) ? undefined : { why: 'lost' }
      const places = rows.map((row) => row.seq)
      const found = await db.inTenant(tenant_id, (tx) => eventsAt(tx, tenant_id, places))
      let left = found.map((e) => encode(target, e, syslogOrigin))
      const there = new Set(left.map((e) => e.seq))
      const forgotten = places.filter((seq) => !there.has(seq))
      const taken: number[] = []
      const refused: Refused[number][] = []
      for (const size = createSize(); left.length > 0; ) {
        const batch = size.next(name, left)
        const sent = await sendTo(deps, target, batch, signal)
        if (sent.outcome === 'later' || sent.outcome === 'parked') return { ...sent, why: 'stopped' }
        const parts = sorted(batch, sent)
        size.tried(batch, parts !== undefined)
        if (!parts) continue
        taken.push(...parts.taken.map((e) => e.seq))
        refused.push(...parts.refused)
        left = left.slice(batch.events.length)
      }
      const isKept = await db.inTenant(tenant_id, async (tx) => {
        if (!(await streams.renewLease(tx, leased))) return false
        const deleted = await deleteDeadLetters(tx, leased, [...taken, ...forgotten])
        if (refused.length > 0) await insertDeadLetters(tx, deadLettersOf(leased, refused, now()))
        return streams.countReplayed(tx, leased, { deleted, taken: taken.length, lost: forgotten.length })
      })
      if (!isKept) return { why: 'lost' }
    }
  }
}
