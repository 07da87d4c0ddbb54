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
