import { createHash } from 'node:crypto'
import { second } from '../../../kernel/time.ts'
import type { Encoded, EventBatch, Sent } from '../sinks/sink.ts'
import type { BatchSizing } from './streams.queries.ts'

/** Limits of one batch. The largest request of a deployment is 256 KiB. */
export const mostEvents = 500
const mostBytes = 200 * 1024
/**
 * A receiver that takes longer than this for a batch counts as slow. It gets slower growth and a limited share of a
 * replica.
 */
const slowMs = 3 * second

/**
 * Size of the next batch, in events. A batch that is not accepted is halved, down to one event. An accepted one doubles
 * the size, or adds a quarter if the receiver was slow. After a permanent error the next batch is a single event,
 * because that event may be the cause.
 */
export function createAdaptiveBatch({ batch_events, is_slow }: Omit<BatchSizing, 'attempts'>) {
  let most = batch_events
  let isSlow = is_slow
  let attempts = 0
  const grown = () => Math.min(mostEvents, isSlow ? Math.ceil(most * 1.25) : most * 2)
  return {
    tried: ({ events }: EventBatch, { outcome }: Sent, milliseconds: number): void => {
      isSlow = milliseconds > slowMs
      if (outcome !== 'taken') attempts++
      if (outcome === 'parked') most = 1
      else if (outcome === 'taken' || (outcome === 'refused' && events.length === 1)) most = grown()
      else most = Math.max(1, Math.floor(events.length / 2))
    },
    /** Returns the next batch from these events: at least one event. */
    next: (name: string, events: readonly Encoded[]): EventBatch => {
      let bytes = 0
      let count = 0
      for (const { text } of events.slice(0, most)) {
        bytes += Buffer.byteLength(text)
        if (count > 0 && bytes > mostBytes) break
        count++
      }
      const some = events.slice(0, count)
      return { id: `${name}.${some[0]?.seq}-${some.at(-1)?.seq}.${digestOf(some)}`, events: some }
    },
    /** Returns the state to store, and resets the count of failed attempts, which the caller adds up. */
    taken: (): BatchSizing => {
      const counted = attempts
      attempts = 0
      return { batch_events: most, is_slow: isSlow, attempts: counted }
    },
  }
}

/**
 * Makes batch ids differ if a restored audit log issues the same sequence numbers again, or the format changed. Each
 * text is one line.
 */
function digestOf(events: readonly Encoded[]): string {
  const digest = createHash('sha256')
  for (const { text } of events) digest.update(text).update('\n')
  return digest.digest('hex').slice(0, 16)
}
