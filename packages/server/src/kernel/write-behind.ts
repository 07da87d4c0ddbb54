import { isOfData, writeInHalves } from './in-halves.ts'
import { second } from './time.ts'

const retryMs = 5 * second

/**
 * Remembers the newest moment, or the highest number, per key and writes all of them in one batch, at the latest
 * `withinMs` after the first one that waits. For what may lag and must not cost a request a statement: "last seen".
 * What can't be written now stays, and is tried again soon; what is refused for its data is dropped alone.
 */
export function createWriteBehind<V extends Date | number = Date>(deps: {
  write: (batch: ReadonlyMap<string, V>) => Promise<void>
  onError: (e: Error) => void
}) {
  let pending = new Map<string, V>()
  let timer: NodeJS.Timeout | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let running: Promise<void> | undefined

  const keepNewest = (key: string, at: V) => {
    const known = pending.get(key)
    if (!known || known < at) pending.set(key, at)
  }
  const schedule = (withinMs: number) => {
    const due = performance.now() + withinMs
    if (due >= dueAt) return
    clearTimeout(timer)
    dueAt = due
    timer = setTimeout(() => void flushAndRetry(), withinMs).unref()
  }
  /** By the timer alone: whoever flushes by hand does so again, or for the last time. */
  async function flushAndRetry(): Promise<void> {
    await flush()
    if (pending.size > 0) schedule(retryMs)
  }
  async function writeAll(): Promise<void> {
    clearTimeout(timer)
    dueAt = Number.POSITIVE_INFINITY
    if (pending.size === 0) return
    const batch = pending
    pending = new Map()
    await writeInHalves([...batch], {
      write: (part) => deps.write(new Map(part)),
      refused: (part, e) => {
        if (!isOfData(e)) for (const [key, at] of part) keepNewest(key, at)
        deps.onError(e as Error)
      },
    })
  }
  /** Everything touched before the call is written (or reported to `onError`) when it settles. */
  async function flush(): Promise<void> {
    const mine = (running ?? Promise.resolve()).then(writeAll)
    running = mine
    await mine
    if (running === mine) running = undefined
  }

  return {
    touch: (key: string, at: V, withinMs: number) => {
      keepNewest(key, at)
      schedule(withinMs)
    },
    flush,
  }
}
