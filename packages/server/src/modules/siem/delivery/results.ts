import type { Batch, Encoded, Sent, Target } from '../sinks/sink.ts'
import type { createPace } from './batches.ts'

/** How long a stream is served at once. */
export type Turn = {
  /** Of `performance.now()`. */
  until: number
  signal: AbortSignal
}

/** What a stream is sent with in its turn. `attempt` sends the first of these that go together. */
export type Means = {
  target: Target
  attempt: (events: readonly Encoded[]) => Promise<{ batch: Batch; sent: Sent }>
  pace: Pick<ReturnType<typeof createPace>, 'taken'>
  until: number
}

/** How sending ended: nothing is left, it was long enough for now, the lease is another's, or it can't go on. */
export type Ended =
  | { why: 'empty' | 'turn_over' | 'lost' }
  | { why: 'replay_waits'; waitMs?: number }
  | (Extract<Sent, { outcome: 'later' | 'parked' }> & { why: 'stopped' })

export const stopped = (answer: string): Ended => ({ why: 'stopped', outcome: 'parked', answer })

export type Refused = readonly (readonly [event: Encoded, reason: string])[]

/**
 * What of a batch was taken and what refused. Undefined where nothing of it was and it is more than one event: some of
 * them may be good.
 */
export function sorted(batch: Batch, sent: Extract<Sent, { outcome: 'taken' | 'refused' | 'parked' }>) {
  if (sent.outcome !== 'taken' && batch.events.length > 1) return undefined
  const reasonOf = (i: number) => (sent.outcome === 'taken' ? sent.refused?.get(i) : sent.answer)
  const refused: Refused = batch.events.flatMap((e, i) => {
    const reason = reasonOf(i)
    return reason === undefined ? [] : [[e, reason] as const]
  })
  return { taken: batch.events.filter((_, i) => reasonOf(i) === undefined), refused }
}
