import { createHash } from 'node:crypto'
import { second } from '../../../kernel/time.ts'
import type { Batch, Encoded, Sent } from '../sinks/sink.ts'
import type { Pace } from './streams.queries.ts'

/** Of one batch. The largest request that leaves a deployment is 256 KiB. */
export const mostEvents = 500
const mostBytes = 200 * 1024
/** A receiver that takes longer over a batch is not hurried, and may hold no more than its share of a replica. */
const slowMs = 3 * second

/**
 * How many events the next batch has. What is not taken is halved until it is, or is one event; what is taken doubles
 * it again, or makes it a quarter more where the receiver took long. What only a person can mend is tried alone: it may
 * be of one event.
 */
export function createPace({ batch_events, is_slow }: Omit<Pace, 'attempts'>) {
  let most = batch_events
  let isSlow = is_slow
  let attempts = 0
  const grown = () => Math.min(mostEvents, isSlow ? Math.ceil(most * 1.25) : most * 2)
  return {
    tried: ({ events }: Batch, { outcome }: Sent, milliseconds: number): void => {
      isSlow = milliseconds > slowMs
      if (outcome !== 'taken') attempts++
      if (outcome === 'parked') most = 1
      else if (outcome === 'taken' || (outcome === 'refused' && events.length === 1)) most = grown()
      else most = Math.max(1, Math.floor(events.length / 2))
    },
    /** The first of these that go together, at least one. */
    next: (name: string, events: readonly Encoded[]): Batch => {
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
    /** To be written down: the attempts are counted by whoever asks. */
    taken: (): Pace => {
      const counted = attempts
      attempts = 0
      return { batch_events: most, is_slow: isSlow, attempts: counted }
    },
  }
}

/** Places of a restored record go to other events, and a connector may get another format. Each text is one line. */
function digestOf(events: readonly Encoded[]): string {
  const digest = createHash('sha256')
  for (const { text } of events) digest.update(text).update('\n')
  return digest.digest('hex').slice(0, 16)
}
