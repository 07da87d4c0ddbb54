import type { TenantId } from './actor.ts'
import { BoundedMap } from './bounded-map.ts'

type Kept<T> = { value: T | undefined; readAtMs: number; reading: Promise<T> | undefined }
/** Of keys that somebody asks for; the others are read anew. */
const mostKeys = 1000

/**
 * Reads a value at most once in `freshMs` for each key, such as a tenant, for any number of callers. An older value is
 * still given out while the next is being read; at twice that age callers wait for the next. A reading that failed is
 * made again for the next caller.
 */
export function createRecent<T, K extends string = TenantId>({
  read,
  freshMs,
  now,
}: {
  read: (key: K) => Promise<T>
  freshMs: number
  now: () => Date
}) {
  const all = new BoundedMap<K, Kept<T>>(mostKeys)

  function begin(key: K, kept: Kept<T>): Promise<T> {
    const readAtMs = now().getTime()
    const reading = read(key)
      .then((value) => {
        Object.assign(kept, { value, readAtMs })
        return value
      })
      .finally(() => {
        kept.reading = undefined
      })
    // The callers that wait for it get the failure.
    reading.catch(() => {})
    kept.reading = reading
    return reading
  }

  return async (key: K): Promise<T> => {
    const kept = all.get(key) ?? { value: undefined, readAtMs: Number.NEGATIVE_INFINITY, reading: undefined }
    all.set(key, kept)
    // The clock may have been set back.
    const age = Math.abs(now().getTime() - kept.readAtMs)
    if (kept.value !== undefined && age < freshMs) return kept.value
    const reading = kept.reading ?? begin(key, kept)
    return kept.value !== undefined && age < 2 * freshMs ? kept.value : reading
  }
}
