import type { TenantId } from '../../kernel/actor.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'

type Kept<T> = { value: T | undefined; readAtMs: number; reading: Promise<T> | undefined }
/** Of tenants that somebody looks at; the others are read anew. */
const mostTenants = 1000

/**
 * What is read at most once in so long for each tenant, however many ask. One that is older is still given out while
 * the next is being read; at twice that age it is waited for. What could not be read is asked for again.
 */
export function createRecent<T>({
  read,
  freshMs,
  now,
}: {
  read: (tenant: TenantId) => Promise<T>
  freshMs: number
  now: () => Date
}) {
  const tenants = new BoundedMap<TenantId, Kept<T>>(mostTenants)

  function begin(tenant: TenantId, kept: Kept<T>): Promise<T> {
    const readAtMs = now().getTime()
    const reading = read(tenant)
      .then((value) => {
        Object.assign(kept, { value, readAtMs })
        return value
      })
      .finally(() => {
        kept.reading = undefined
      })
    // Whoever waits for it hears of a failure.
    reading.catch(() => {})
    kept.reading = reading
    return reading
  }

  return async (tenant: TenantId): Promise<T> => {
    const kept = tenants.get(tenant) ?? { value: undefined, readAtMs: Number.NEGATIVE_INFINITY, reading: undefined }
    tenants.set(tenant, kept)
    // The clock may have been set back.
    const age = Math.abs(now().getTime() - kept.readAtMs)
    if (kept.value !== undefined && age < freshMs) return kept.value
    const reading = kept.reading ?? begin(tenant, kept)
    return kept.value !== undefined && age < 2 * freshMs ? kept.value : reading
  }
}
