import { tooMany } from './app-error.ts'

type Places = { perKey: number; total: number; waiting: number; waitingPerKey?: number }

/**
 * A concurrency limiter. At most `perKey` tasks of a key and `total` of all run at once; `waiting` more wait, at most
 * `waitingPerKey` of one key, and further ones are refused. A waiting task is not delayed by a key that already uses
 * its share.
 */
export function createConcurrencyLimiter({ perKey, total, waiting, waitingPerKey = waiting }: Places) {
  const running = new Map<string, number>()
  const queue: { key: string; start: () => void }[] = []
  let count = 0

  const mayRun = (key: string) => count < total && (running.get(key) ?? 0) < perKey
  const mayWait = (key: string) => queue.length < waiting && queue.filter((w) => w.key === key).length < waitingPerKey
  const begin = (key: string) => {
    count++
    running.set(key, (running.get(key) ?? 0) + 1)
  }
  const end = (key: string) => {
    count--
    const left = (running.get(key) ?? 1) - 1
    if (left > 0) running.set(key, left)
    else running.delete(key)
    const next = queue.findIndex((w) => mayRun(w.key))
    if (next < 0) return
    const [waiter] = queue.splice(next, 1)
    begin(waiter!.key)
    waiter!.start()
  }

  return async <T>(key: string, work: () => T | Promise<T>): Promise<T> => {
    if (mayRun(key)) begin(key)
    else if (mayWait(key)) await new Promise<void>((start) => queue.push({ key, start }))
    else throw tooMany('concurrent requests of this kind', 1)
    try {
      return await work()
    } finally {
      end(key)
    }
  }
}

/**
 * Creates a keyed mutex: work of one key runs one after the other, work of different keys in parallel. If more than
 * `maxWaiting` wait for a key, the call returns undefined without running anything.
 */
export function createKeyedMutex(maxWaiting: number) {
  const queues = new Map<string, { waiting: number; last: Promise<unknown> }>()

  return async <T>(key: string, work: () => Promise<T>): Promise<T | undefined> => {
    const queue = queues.get(key) ?? { waiting: 0, last: Promise.resolve() }
    if (queue.waiting > maxWaiting) return undefined
    queues.set(key, queue)
    queue.waiting++
    const result = queue.last.then(work)
    queue.last = result.catch(() => {})
    try {
      return await result
    } finally {
      if (--queue.waiting === 0) queues.delete(key)
    }
  }
}
