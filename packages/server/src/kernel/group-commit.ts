import { AppError } from './app-error.ts'
import { writeInHalves } from './in-halves.ts'

const tooMuch = () =>
  new AppError('rate_limited', 'too much waits to be written; try again shortly', { retryAfterSeconds: 1 })

/**
 * Many callers, few commits: what arrives while one batch is being written forms the next. Each caller's promise
 * settles with its batch, so an acknowledged item is a durable one; what `write` returns for an item is what its caller
 * gets. The tenants take turns in a batch, and one whose data is refused fails alone. A tenant at its bound, or the
 * queue at its own, is refused (429) instead of growing.
 */
export function createGroupCommit<T, R = void>(
  write: (batch: T[]) => Promise<readonly R[]>,
  {
    tenantOf,
    maxBatch,
    maxQueue,
    maxPerTenant,
  }: { tenantOf: (item: T) => string; maxBatch: number; maxQueue: number; maxPerTenant: number },
) {
  type Waiting = { item: T; resolve: (result: R) => void; reject: (e: unknown) => void }
  const queues = new Map<string, Waiting[]>()
  let size = 0
  let writing = false

  /** One of each tenant in turn; who was served goes to the end. */
  function takeBatch(): Waiting[] {
    const batch: Waiting[] = []
    for (const [tenant, queue] of queues) {
      const next = queue.shift()
      queues.delete(tenant)
      if (queue.length > 0) queues.set(tenant, queue)
      if (next) batch.push(next)
      if (batch.length === maxBatch) break
    }
    size -= batch.length
    return batch
  }

  async function drain() {
    writing = true
    while (size > 0)
      await writeInHalves(takeBatch(), {
        write: async (part) => {
          const results = await write(part.map((w) => w.item))
          part.forEach((w, i) => {
            w.resolve(results[i] as R)
          })
        },
        refused: (part, e) => {
          for (const w of part) w.reject(e)
        },
      })
    writing = false
  }

  return (item: T): Promise<R> =>
    new Promise((resolve, reject) => {
      const tenant = tenantOf(item)
      const queue = queues.get(tenant) ?? []
      if (size >= maxQueue || queue.length >= maxPerTenant) return reject(tooMuch())
      queue.push({ item, resolve, reject })
      queues.set(tenant, queue)
      size++
      // After the current turn of the loop: requests that arrived together share a batch.
      if (!writing) {
        writing = true
        setImmediate(drain)
      }
    })
}
