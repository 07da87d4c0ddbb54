/**
 * Runs the work of one key one after the other, and of different keys side by side. At most `maxWaiting` wait per key:
 * beyond that the call returns undefined without having run anything.
 */
export function createTurns(maxWaiting: number) {
  const queues = new Map<string, { waiting: number; last: Promise<unknown> }>()

  return async <T>(key: string, work: () => Promise<T>): Promise<T | undefined> => {
    const queue = queues.get(key) ?? { waiting: 0, last: Promise.resolve() }
    if (queue.waiting > maxWaiting) return undefined
    queues.set(key, queue)
    queue.waiting++
    const mine = queue.last.then(work)
    queue.last = mine.catch(() => {})
    try {
      return await mine
    } finally {
      if (--queue.waiting === 0) queues.delete(key)
    }
  }
}
