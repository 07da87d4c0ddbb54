import { BoundedMap } from '../kernel/bounded-map.ts'
import { orAbort } from '../kernel/or-abort.ts'
import { second } from '../kernel/time.ts'

/** All addresses of a name. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/** Who answers later than this is looked up among the failing the next time. */
const usualSlowMs = second
/** How long a failure is the answer for whoever asks again. */
const usualKeptMs = 5 * second
const mostNames = 10_000
/** libuv looks names up on half of its threads: on 8 of the 16 that scripts/run.mjs has it start. */
const mostUnproved = 6
const mostFailing = 2

type Lane = 'proved' | 'fresh' | 'failing'
type Known = { lane: Lane; failure?: { cause: unknown; until: number } }
type Shared = PromiseWithResolvers<readonly string[]> & { hostname: string; lane: Lane; askers: number }

/**
 * The look-ups of a replica, in lanes. The system's own way to look a name up knows /etc/hosts and search domains, but
 * cannot be called off: a name whose servers are gone holds a thread for ten seconds or more, long after whoever asked
 * has given up, and a tenant may have many such names. So all who ask for a name share one look-up; a failure is
 * remembered for a moment; and names that did not answer promptly the last time, or were never asked for, run only so
 * many at once that threads are left. A name that answered promptly never waits here. (Those that stop answering all at
 * once still take theirs, once.) No address is remembered: each is judged as it was found for this request.
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
    // Whoever asked may have given up.
    shared.promise.catch(() => {})
    underWay.set(hostname, shared)
    if (hasRoom(lane)) void run(shared)
    else waiting[lane].add(shared)
    return shared
  }

  /** Rejects with what the look-up failed with, or with the signal's reason. */
  return async (hostname: string, signal: AbortSignal): Promise<readonly string[]> => {
    const { lane, failure } = known.get(hostname) ?? { lane: 'fresh' as const, failure: undefined }
    if (failure && performance.now() < failure.until) throw failure.cause
    const shared = underWay.get(hostname) ?? begin(hostname, lane)
    shared.askers++
    try {
      return await orAbort(shared.promise, signal)
    } finally {
      // One that has not begun is for nobody then.
      if (--shared.askers === 0 && waiting[shared.lane].delete(shared)) underWay.delete(hostname)
    }
  }
}
export type Resolve = ReturnType<typeof createLookups>
