/** Parts of a lease's length: the interval of renewals, and the silence after which the holder gives up. */
const renewalPart = 0.3
const silencePart = 0.8

/** The row is finished, or another replica has its lease. The work ends without a result. */
export class LeaseLost extends Error {}

type Terms<K, H> = {
  /** Name of a row: it is worked on once at a time in this process. */
  nameOf: (key: K) => string
  /** Bounds the number of rows at once. A row waits before its lease is taken. */
  limited?: (key: K, work: () => Promise<void>) => Promise<void>
  /** Undefined if another replica has the lease. */
  take: (key: K) => Promise<H | undefined>
  /** Work whose every write renews the lease has no renewals of its own. False if the lease is lost. */
  renewal?: { leaseMs: number; renew: (held: H) => Promise<boolean> }
  /** The signal aborts at a stop, and when the lease is lost. */
  work: (held: H, signal: AbortSignal) => Promise<unknown>
  /** Gives the row back at a stop. Without it, the lease runs out. */
  release?: (held: H) => Promise<unknown>
  /** Settles a failure while the lease is held. Without it, the caller gets the failure. */
  failed?: (held: H, e: unknown) => Promise<unknown>
  ended?: (key: K) => void
  onError: (e: unknown) => void
}

/**
 * Works on leased rows (`db/lease.ts`): takes the lease of a row, renews it while the work runs, and aborts the work
 * once another replica may hold it. The row of a process that dies is free when its lease has run out.
 */
export function createLeasedWorker<K, H extends object>(terms: Terms<K, H>) {
  const { nameOf, limited = (_, work) => work(), take, renewal, work, release, failed, ended, onError } = terms
  const stopping = new AbortController()
  const running = new Map<string, { key: K; work: Promise<void> }>()
  const holding = new Map<H, AbortController>()

  function renewing(held: H, lost: AbortController, takenAt: number, { leaseMs, renew }: NonNullable<typeof renewal>) {
    let renewedAt = takenAt
    let isAsking = false
    const ask = async () => {
      const askedAt = performance.now()
      if (askedAt - renewedAt > leaseMs * silencePart) return lost.abort()
      if (isAsking) return
      isAsking = true
      try {
        if (await renew(held)) renewedAt = askedAt
        else lost.abort()
      } catch (e) {
        onError(e)
      }
      isAsking = false
    }
    return setInterval(ask, leaseMs * renewalPart).unref()
  }

  async function serve(key: K): Promise<void> {
    // The lease is as old as the request for it: the answer of a stalled database may come after its end.
    const takenAt = performance.now()
    const held = stopping.signal.aborted ? undefined : await take(key)
    if (!held) return
    if (renewal && performance.now() - takenAt > renewal.leaseMs * silencePart) {
      await release?.(held)
      return
    }
    const lost = new AbortController()
    holding.set(held, lost)
    const renewals = renewal && renewing(held, lost, takenAt, renewal)
    try {
      // Work that can not give its row back finishes it. The signal asks it to be brief.
      if (release) stopping.signal.throwIfAborted()
      await work(held, AbortSignal.any([stopping.signal, lost.signal]))
    } catch (e) {
      if (lost.signal.aborted || e instanceof LeaseLost) return
      if (stopping.signal.aborted) await release?.(held)
      else if (failed) await failed(held, e)
      else throw e
    } finally {
      clearInterval(renewals)
      holding.delete(held)
    }
  }

  return {
    /**
     * Resolves when this replica has done all it can for the row. Callers of one row share the work. A failure rejects,
     * and goes to `onError` for callers that do not wait.
     */
    start: (key: K): Promise<void> => {
      const name = nameOf(key)
      const before = running.get(name)?.work
      if (before || stopping.signal.aborted) return before ?? Promise.resolve()
      const one = limited(key, () => serve(key)).finally(() => running.delete(name))
      one.catch(onError).then(() => ended?.(key))
      running.set(name, { key, work: one })
      return one
    },
    /** Rows in work here, or waiting for it. */
    keys: (): K[] => [...running.values()].map(({ key }) => key),
    /** Aborts the work on rows whose lease was ended from outside. */
    lose: (isEnded: (held: H) => boolean): void => {
      for (const [held, lost] of holding) if (isEnded(held)) lost.abort()
    },
    /** Aborted by a stop. */
    signal: stopping.signal,
    /** Takes no further row, aborts the work at once, and waits for its end. */
    stop: async (): Promise<void> => {
      stopping.abort()
      await Promise.allSettled([...running.values()].map(({ work }) => work))
    },
  }
}
