import { tooMany } from './app-error.ts'
import { writeBisecting } from './write-bisecting.ts'

/** Limit of the wait for callers, in ms. The duration of a stalled batch does not predict when they return. */
const longestGatherMs = 25
const tooMuch = () => tooMany('waiting writes', 1)

/**
 * Combines many callers into few commits: items that arrive during one batch form the next. Each caller's promise
 * settles with its batch, so an acknowledged item is durable. The caller gets the result of `write` for its item.
 * Tenants take turns in a batch, and an item with refused data fails alone. Beyond the limit of a tenant or of the
 * queue, items are refused (429).
 *
 * Set `gathers` if a batch costs far more than an item: callers of one batch return one by one. So that the first of
 * them does not make a batch alone, the next batch waits for the others, at most half as long as their batch took.
 */
export function createGroupCommit<T, R = void>(
  write: (batch: T[]) => Promise<readonly R[]>,
  {
    tenantOf,
    maxBatch,
    maxQueue,
    maxPerTenant,
    gathers = false,
  }: {
    tenantOf: (item: T) => string
    maxBatch: number
    maxQueue: number
    maxPerTenant: number
    gathers?: boolean
  },
) {
  type Waiting = { item: T; resolve: (result: R) => void; reject: (e: unknown) => void }
  const queues = new Map<string, Waiting[]>()
  let size = 0
  let writing = false
  /** Called when the expected number of items waits. */
  let gathered: { wanted: number; go: () => void } | undefined

  const gather = (wanted: number, ms: number): Promise<void> =>
    new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer)
        gathered = undefined
        resolve()
      }
      const timer = setTimeout(go, ms)
      gathered = { wanted, go }
    })

  /** Takes one item of each tenant in turn. A served tenant goes to the end. */
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
    while (size > 0) {
      const started = performance.now()
      const batch = takeBatch()
      let others = 0
      await writeBisecting(batch, {
        write: async (part) => {
          const results = await write(part.map((w) => w.item))
          others = Math.min(batch.length + size, maxBatch)
          part.forEach((w, i) => {
            w.resolve(results[i] as R)
          })
        },
        refused: (part, e) => {
          for (const w of part) w.reject(e)
        },
      })
      if (gathers && others > 1) await gather(others, Math.min((performance.now() - started) / 2, longestGatherMs))
    }
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
      if (gathered && size >= gathered.wanted) gathered.go()
      // Runs after the current turn of the event loop, so that requests that arrived together share a batch.
      if (!writing) {
        writing = true
        setImmediate(drain)
      }
    })
}
