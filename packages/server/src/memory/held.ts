import type { TenantId } from '../kernel/actor.ts'
import { minute } from '../kernel/time.ts'
import type { Change, ChangeKind, Changes, Stage } from './changes.ts'
import type { Feed } from './feed.ts'

type Entry<T> = { value: T | undefined; loading: Promise<T>; missed: Change[]; used: boolean }
/** What a value that is held needs of the room. */
export type Memory = { changes: Pick<Changes, 'listen'>; feed: Pick<Feed, 'isFresh' | 'catchUp' | 'onBeat'> }

/** What nobody asked for in so long goes, unless somebody waits for a change of it. */
export type Idle = { afterMs: number; isAwaited: (tenant: TenantId) => boolean }
export const idleAfterMs = 10 * minute
const never = { afterMs: idleAfterMs, isAwaited: () => false }
/** A load that more changes than this overlap is not kept. */
const missedMost = 50_000

/**
 * One value for each tenant that asks, read when first needed and true until a change of its kinds: then it is dropped,
 * or brought up to date by `patch`. What was being read while such a change came in serves those who asked before it
 * and nobody after. While memory is not proven fresh, callers wait for one comparison with the database. What nobody
 * asks for goes.
 */
export function held<T extends object>(
  { changes, feed }: Memory,
  spec: {
    stage?: Stage
    kinds: readonly ChangeKind[]
    load: (tenant: TenantId) => Promise<T>
    /**
     * Called with every change of the kinds, also of those that came while the value was being read. False: drop it.
     */
    patch?: (value: T, changes: readonly Change[]) => boolean
    /** Whether time alone asks for another value. */
    isOver?: (value: T) => boolean
    /** Called with a value that is held no longer. */
    onDrop?: (value: T) => void
    /** At most so many tenants. */
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
    /** At once where it is held and proven; the promise only while it is being read or compared. */
    get: (tenant: TenantId): T | Promise<T> =>
      feed.isFresh() ? current(tenant) : feed.catchUp().then(() => current(tenant)),
    /** What is held now, proven or not. */
    peek: (tenant: TenantId): T | undefined => entries.get(tenant)?.value,
    size: () => entries.size,
  }
}
