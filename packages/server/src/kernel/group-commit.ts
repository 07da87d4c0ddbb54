import { AppError } from './app-error.ts'

const tooMuch = () =>
  new AppError('rate_limited', 'too much waits to be written; try again shortly', { retryAfterSeconds: 1 })

/**
 * Many callers, few commits: what arrives while one batch is being written forms the next. Each caller's promise
 * settles with its batch, so an acknowledged item is a durable one; what `write` returns for an item is what its caller
 * gets. A queue at its bound refuses (429) instead of growing.
 */
export function createGroupCommit<T, R = void>(
  write: (batch: T[]) => Promise<readonly R[]>,
  { maxBatch, maxQueue }: { maxBatch: number; maxQueue: number },
) {
  type Waiting = { item: T; resolve: (result: R) => void; reject: (e: unknown) => void }
  let queue: Waiting[] = []
  let writing = false

  async function drain() {
    writing = true
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatch)
      queue = queue.slice(maxBatch)
      try {
        const results = await write(batch.map((w) => w.item))
        batch.forEach((w, i) => {
          w.resolve(results[i] as R)
        })
      } catch (e) {
        for (const w of batch) w.reject(e)
      }
    }
    writing = false
  }

  return (item: T): Promise<R> =>
    new Promise((resolve, reject) => {
      if (queue.length >= maxQueue) return reject(tooMuch())
      queue.push({ item, resolve, reject })
      // After the current turn of the loop: requests that arrived together share a batch.
      if (!writing) {
        writing = true
        setImmediate(drain)
      }
    })
}
