import type { TenantId } from '../kernel/actor.ts'
import { minute } from '../kernel/time.ts'
import type { Change, ChangeKind, Changes, Stage } from './changes.ts'
import type { Feed } from './feed.ts'

type Entry<T> = { value: T | undefined; loading: Promise<T>; missed: Change[]; used: boolean }
/** Dependencies of a tenant cache. */
export type Memory = { changes: Pick<Changes, 'listen'>; feed: Pick<Feed, 'isFresh' | 'catchUp' | 'onBeat'> }

/** A value unused for this long is dropped, unless a request waits for a change of it. */
export type Idle = { afterMs: number; isAwaited: (tenant: TenantId) => boolean }
export const idleAfterMs = 10 * minute
const never = { afterMs: idleAfterMs, isAwaited: () => false }
/** A load that overlaps more changes than this is not cached. */
const missedMost = 50_000

/**
 * Creates a tenant cache: one value per tenant, loaded when first needed and valid until a change of its kinds. Then it
 * is dropped, or updated by `patch`. A load that overlaps such a change serves only the callers from before it. While
 * the cache is not proven fresh, callers wait for one comparison with the database. Unused values are dropped.
 */
export function tenantCache<T extends object>(
  { changes, feed }: Memory,
  spec: {
    stage?: Stage
    kinds: readonly ChangeKind[]
    load: (tenant: TenantId) => Promise<T>
    /** Called with every change of the kinds, also with those during the load. False: drop the value. */
    patch?: (value: T, changes: readonly Change[]) => boolean
    /** True if the value is outdated by time alone. */
    isOver?: (value: T) => boolean
    /** Called with a dropped value. */
    onDrop?: (value: T) => void
    /** Limit of cached tenants. */
    bound?: number
    idle?: Idle
  },
) {
  const { load, patch, isOver, onDrop, bound = 10_000, idle = never } = spec
  const kinds = new Set(spec.kinds)
  const entries = new Map<TenantId, Entry<T>>()

  const drop = (tenant: TenantId): void => {
    const entry = entries.get(tenant)
    entries.delete(tenant)
    if (entry?.value) onDrop?.(entry.value)
  }

  changes.listen(spec.stage ?? 'values', {
    changed: (tenant, list) => {
      const entry = entries.get(tenant)
      if (!entry) return
      const own = list.filter((c) => kinds.has(c.kind))
      if (own.length === 0) return
      if (!patch || entry.missed.length + own.length > missedMost) drop(tenant)
      else if (!entry.value) for (const c of own) entry.missed.push(c)
      else if (!patch(entry.value, own)) drop(tenant)
    },
    forgotten: (tenant) => {
      for (const each of tenant === undefined ? [...entries.keys()] : [tenant]) drop(each)
    },
  })

  let sweptAt = performance.now()
  feed.onBeat(() => {
    if (performance.now() - sweptAt < idle.afterMs) return
    sweptAt = performance.now()
    for (const [tenant, entry] of entries) {
      if (!entry.used && entry.value && !idle.isAwaited(tenant)) drop(tenant)
      entry.used = false
    }
  })

  function read(tenant: TenantId): Promise<T> {
    const loading = load(tenant).then(
      (value) => {
        if (entries.get(tenant) !== entry) return value
        entry.value = value
        if (entry.missed.length > 0 && patch?.(value, entry.missed) === false) drop(tenant)
        entry.missed = []
        return value
      },
      (e) => {
        if (entries.get(tenant) === entry) entries.delete(tenant)
        throw e
      },
    )
    const entry: Entry<T> = { value: undefined, loading, missed: [], used: true }
    drop(tenant)
    entries.set(tenant, entry)
    const [oldest] = entries.keys()
    if (entries.size > bound && oldest !== undefined) drop(oldest)
    return loading
  }

  function current(tenant: TenantId): T | Promise<T> {
    const entry = entries.get(tenant)
    if (!entry) return read(tenant)
    entry.used = true
    if (entry.value === undefined) return entry.loading
    return isOver?.(entry.value) ? read(tenant) : entry.value
  }

  return {
    /**
     * Returns the value at once if it is cached and proven fresh. Returns a promise only during a load or comparison.
     */
    get: (tenant: TenantId): T | Promise<T> =>
      feed.isFresh() ? current(tenant) : feed.catchUp().then(() => current(tenant)),
    /** Returns the cached value, proven fresh or not. */
    peek: (tenant: TenantId): T | undefined => entries.get(tenant)?.value,
    size: () => entries.size,
  }
}
