import type { TenantId } from '../kernel/actor.ts'
import { BoundedMap } from '../kernel/bounded-map.ts'

type Kept<T> = { value: T | undefined; readAtMs: number; reading: Promise<T> | undefined }
/** Largest number of cached keys. Others are read again. */
const mostKeys = 1000

/**
 * Reads a value at most once in `freshMs` per key, such as a tenant, for any number of callers. An older value is still
 * returned during the next read; at twice that age callers wait for the read. After a failure the next caller reads
 * again.
 */
export function createReadCache<T, K extends string = TenantId>({
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
    // The waiting callers get the error.
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
