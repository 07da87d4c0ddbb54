import { createHash } from 'node:crypto'
import type { Batch, Encoded } from '../sinks/sink.ts'

/** Of one batch. The largest request that leaves a deployment is 256 KiB. */
export const mostEvents = 500
const mostBytes = 200 * 1024

/**
 * How many events the next batch has. A batch that is refused as a whole is halved until it is taken, or is one event;
 * what is taken doubles it again.
 */
export function createSize() {
  let most = mostEvents
  return {
    /** `isDone`: it was taken, or was one event. */
    tried: ({ events }: Batch, isDone: boolean): void => {
      most = isDone ? Math.min(mostEvents, most * 2) : Math.max(1, Math.floor(events.length / 2))
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
  }
}

/** Places of a restored record go to other events, and a connector may get another format. Each text is one line. */
function digestOf(events: readonly Encoded[]): string {
  const digest = createHash('sha256')
  for (const { text } of events) digest.update(text).update('\n')
  return digest.digest('hex').slice(0, 16)
}
