import type { Encoded, EventBatch, Sent, SinkTarget } from '../sinks/sink.ts'
import type { createAdaptiveBatch } from './batches.ts'

/** Time that a stream is served in one go. */
export type DeliveryTurn = {
  /** In terms of `performance.now()`. */
  until: number
  signal: AbortSignal
}

/** Tools for sending a stream in its turn. `attempt` sends the next batch of these events. */
export type Means = {
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

export const stopped = (answer: string): SendingEnd => ({ why: 'stopped', outcome: 'parked', answer })

export type RefusedEvents = readonly (readonly [event: Encoded, reason: string])[]

/**
 * Splits a batch into delivered and refused events. Undefined if none was delivered and there are several: some of them
 * may be good.
 */
export function sorted(batch: EventBatch, sent: Extract<Sent, { outcome: 'taken' | 'refused' | 'parked' }>) {
  if (sent.outcome !== 'taken' && batch.events.length > 1) return undefined
  const reasonOf = (i: number) => (sent.outcome === 'taken' ? sent.refused?.get(i) : sent.answer)
  const refused: RefusedEvents = batch.events.flatMap((e, i) => {
    const reason = reasonOf(i)
    return reason === undefined ? [] : [[e, reason] as const]
  })
  return { taken: batch.events.filter((_, i) => reasonOf(i) === undefined), refused }
}
