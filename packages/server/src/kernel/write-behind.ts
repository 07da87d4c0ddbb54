import { second } from './time.ts'
import { isOfData, writeBisecting } from './write-bisecting.ts'

const retryMs = 5 * second

/**
 * Keeps one value per key and writes all in one batch, at most `withinMs` after the first. For values that may lag and
 * must not cost a statement per request, such as "last seen". A failed batch is kept and retried soon. A value that the
 * database refuses is dropped alone.
 */
export function createWriteBehind<V = Date>({
  write,
  onError,
  merge = (known, added) => (added > known ? added : known),
  maxBatch = Number.POSITIVE_INFINITY,
  maxKeys = Number.POSITIVE_INFINITY,
}: {
  write: (batch: ReadonlyMap<string, V>) => Promise<void>
  onError: (e: Error) => void
  /** Merges two values of a key; by default the greater one stays: the newest time, the highest number. */
  merge?: (known: V, added: V) => V
  /** A longer batch is split into several writes, each retried by itself. */
  maxBatch?: number
  /** New keys beyond this number are dropped. */
  maxKeys?: number
}) {
  let pending = new Map<string, V>()
  let timer: NodeJS.Timeout | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let running: Promise<void> | undefined

  const keep = (key: string, value: V): void => {
    const known = pending.get(key)
    if (known !== undefined) pending.set(key, merge(known, value))
    else if (pending.size < maxKeys) pending.set(key, value)
  }
  const schedule = (withinMs: number) => {
    const due = performance.now() + withinMs
    if (due >= dueAt) return
    clearTimeout(timer)
    dueAt = due
    timer = setTimeout(() => void flushAndRetry(), withinMs).unref()
  }
  /** Called by the timer only. Callers of `flush` repeat it themselves, or flush for the last time. */
  async function flushAndRetry(): Promise<void> {
    await flush()
    if (pending.size > 0) schedule(retryMs)
  }
  async function writeAll(): Promise<void> {
    clearTimeout(timer)
    dueAt = Number.POSITIVE_INFINITY
    const batch = [...pending]
    pending = new Map()
    for (let i = 0; i < batch.length; i += maxBatch)
      await writeBisecting(batch.slice(i, i + maxBatch), {
        write: (part) => write(new Map(part)),
        refused: (part, e) => {
          if (!isOfData(e)) for (const [key, value] of part) keep(key, value)
          onError(e as Error)
        },
      })
  }
  /** Writes everything touched before the call (or reports it to `onError`), then settles. */
  async function flush(): Promise<void> {
    const result = (running ?? Promise.resolve()).then(writeAll)
    running = result
    await result
    if (running === result) running = undefined
  }

  return {
    touch: (key: string, value: V, withinMs: number) => {
      keep(key, value)
      schedule(withinMs)
    },
    flush,
  }
}
