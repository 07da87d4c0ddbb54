import { BoundedMap } from '../kernel/bounded-map.ts'
import { second } from '../kernel/time.ts'
import { rejectOnAbort } from './reject-on-abort.ts'

/** Returns all addresses of a name. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/** A name slower than this (ms) goes to the failing lane at its next look-up. */
const usualSlowMs = second
/** Time in ms for which a failure is returned to later callers. */
const usualKeptMs = 5 * second
const mostNames = 10_000
/** libuv uses half of its threads for look-ups: 8 of the 16 that scripts/run.mjs configures. */
const mostUnproved = 6
const mostFailing = 2

type Lane = 'proved' | 'fresh' | 'failing'
type Known = { lane: Lane; failure?: { cause: unknown; until: number } }
type Shared = PromiseWithResolvers<readonly string[]> & { hostname: string; lane: Lane; askers: number }

/**
 * The name look-ups of a replica, in lanes. The system's resolver knows /etc/hosts and search domains, but can't be
 * cancelled: a name with dead servers blocks a thread for ten seconds or more, long after its caller has given up, and
 * a tenant may have many such names. So concurrent callers of a name share one look-up, a failure is cached for a few
 * seconds, and names that are new or were slow the last time get a limited number of threads. A name that answered
 * promptly never waits here. (Names that stop answering all at once still take their threads, once.) Addresses are not
 * cached: each request checks the addresses found for it.
 */
export function createLookups(lookup: Lookup, { slowMs = usualSlowMs, keptMs = usualKeptMs } = {}) {
  const known = new BoundedMap<string, Known>(mostNames)
  const underWay = new Map<string, Shared>()
  const running: Record<Lane, number> = { proved: 0, fresh: 0, failing: 0 }
  const waiting: Record<Lane, Set<Shared>> = { proved: new Set(), fresh: new Set(), failing: new Set() }

  const hasRoom = (lane: Lane): boolean =>
    lane === 'proved' ||
    (running.fresh + running.failing < mostUnproved && (lane === 'fresh' || running.failing < mostFailing))

  async function run(shared: Shared): Promise<void> {
    const { hostname, lane } = shared
    running[lane]++
    let isSlow = false
    const timer = setTimeout(() => {
      isSlow = true
      known.set(hostname, { lane: 'failing' })
    }, slowMs).unref()
    try {
      const found = await lookup(hostname)
      if (!isSlow) known.set(hostname, { lane: 'proved' })
      shared.resolve(found)
    } catch (cause) {
      known.set(hostname, { lane: 'failing', failure: { cause, until: performance.now() + keptMs } })
      shared.reject(cause)
    } finally {
      clearTimeout(timer)
      running[lane]--
      underWay.delete(hostname)
      runNext()
    }
  }

  function runNext(): void {
    for (const lane of ['fresh', 'failing'] as const)
      for (const shared of waiting[lane]) {
        if (!hasRoom(lane)) break
        waiting[lane].delete(shared)
        void run(shared)
      }
  }

  function begin(hostname: string, lane: Lane): Shared {
    const shared = { ...Promise.withResolvers<readonly string[]>(), hostname, lane, askers: 0 }
    // All callers may have given up.
    shared.promise.catch(() => {})
    underWay.set(hostname, shared)
    if (hasRoom(lane)) void run(shared)
    else waiting[lane].add(shared)
    return shared
  }

  /** Rejects with the error of the look-up, or with the signal's reason. */
  return async (hostname: string, signal: AbortSignal): Promise<readonly string[]> => {
    const { lane, failure } = known.get(hostname) ?? { lane: 'fresh' as const, failure: undefined }
    if (failure && performance.now() < failure.until) throw failure.cause
    const shared = underWay.get(hostname) ?? begin(hostname, lane)
    shared.askers++
    try {
      return await rejectOnAbort(shared.promise, signal)
    } finally {
      // A look-up that has not started and has no caller left is dropped.
      if (--shared.askers === 0 && waiting[shared.lane].delete(shared)) underWay.delete(hostname)
    }
  }
}
export type Resolve = ReturnType<typeof createLookups>
