import type { Batch, Encoded, Sent } from '../sinks/sink.ts'

/** How long a stream is served at once. */
export type Turn = {
  /** Of `performance.now()`. */
  until: number
  signal: AbortSignal
}

/** How sending ended: nothing is left, it was long enough for now, the lease is another's, or it can't go on. */
export type Ended =
  | { why: 'empty' | 'turn_over' | 'lost' }
  | (Extract<Sent, { outcome: 'later' | 'parked' }> & { why: 'stopped' })

export const stopped = (answer: string): Ended => ({ why: 'stopped', outcome: 'parked', answer })

export type Refused = readonly (readonly [event: Encoded, reason: string])[]

/**
 * What of a batch was taken and what refused. Undefined where it was refused as a whole and is more than one event:
 * some of them may be good.
 */
export function sorted(batch: Batch, sent: Extract<Sent, { outcome: 'taken' | 'refused' }>) {
  if (sent.outcome === 'refused' && batch.events.length > 1) return undefined
  const reasonOf = (i: number) => (sent.outcome === 'refused' ? sent.answer : sent.refused?.get(i))
  const refused: Refused = batch.events.flatMap((e, i) => {
    const reason = reasonOf(i)
    return reason === undefined ? [] : [[e, reason] as const]
  })
  return { taken: batch.events.filter((_, i) => reasonOf(i) === undefined), refused }
}
