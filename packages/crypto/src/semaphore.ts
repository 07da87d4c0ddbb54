/** Thrown without starting the task, because the queue is full. */
export class QueueFullError extends Error {
  constructor() {
    super('too many tasks are waiting')
    this.name = 'QueueFullError'
  }
}

/** Runs at most `concurrency` tasks at once, first come first served, with at most `maxQueue` waiting. */
export function createSemaphore({ concurrency, maxQueue }: { concurrency: number; maxQueue: number }) {
  if (!Number.isInteger(concurrency) || concurrency < 1) throw new RangeError('concurrency must be at least 1')
  const waiting: (() => void)[] = []
  let free = concurrency

  const release = () => {
    const next = waiting.shift()
    if (next) next()
    else free++
  }

  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (free > 0) free--
    else if (waiting.length >= maxQueue) throw new QueueFullError()
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      release()
    }
  }
}
