import { backoffSeconds, type Random } from './backoff.ts'
import type { GatewayChange, GatewayState } from './gateway-state.ts'

/**
 * Why the policy in force is not enforced: a word for programs (`apply_failed` unless the error had one), a sentence
 * for people.
 */
export type ApplyFailure = { code: string; detail: string }

type Apply = (change: GatewayChange, state: GatewayState) => void | Promise<void>

const mostDetail = 512
/** Seconds between two attempts to apply the same state. */
const longestPause = 15

/**
 * Hands changes to who enforces them, one at a time. A change counts as applied when the callback has settled; after
 * one that failed, all that there is is handed over again, until it is applied.
 */
export function createApplier({ state, random }: { state: () => GatewayState | null; random: Random }) {
  let enforced: { seq: number | null; failure: ApplyFailure | null } | null = null
  let last: Promise<unknown> = Promise.resolve()
  let failures = 0
  let retryAt = Number.POSITIVE_INFINITY

  async function hand(change: GatewayChange | null, apply: Apply, onError: (e: unknown) => void): Promise<void> {
    const current = state()
    if (!current) return
    if (!change && failures === 0) {
      // Nothing of it is new to who enforces it.
      if (enforced) enforced = { ...enforced, seq: current.seq }
      return
    }
    try {
      await apply(change && failures === 0 ? change : wholeOf(current), current)
      failures = 0
      retryAt = Number.POSITIVE_INFINITY
      enforced = { seq: current.seq, failure: null }
    } catch (e) {
      retryAt = performance.now() + backoffSeconds(++failures, e, random, longestPause) * 1000
      enforced = { seq: enforced?.seq ?? null, failure: failureOf(e) }
      onError(e)
    }
  }

  return {
    /** The `seq` that is enforced, and what keeps a newer one from being so; null before anything was. */
    get enforced(): Readonly<{ seq: number | null; failure: ApplyFailure | null }> | null {
      return enforced
    },
    /** Says that what is held is enforced, where the caller sees to that itself. */
    confirm: (): void => {
      const current = state()
      if (current) enforced = { seq: current.seq, failure: null }
    },
    get isRetryDue(): boolean {
      return performance.now() >= retryAt
    },
    /** Settles when the callback has; never rejects. */
    hand: (change: GatewayChange | null, apply: Apply, onError: (e: unknown) => void): Promise<void> => {
      const handed = last.then(() => hand(change, apply, onError))
      last = handed
      return handed
    },
  }
}

/** Everything there is, for who could not apply a change or has nothing yet: what is not named is no peer. */
export const wholeOf = ({ seq, peers, revokedDevices, revokedSessions }: GatewayState): GatewayChange => ({
  kind: 'snapshot',
  seq,
  moved: [],
  peers: [...peers.keys()],
  removedPeers: [],
  revokedDevices: [...revokedDevices],
  revokedSessions: [...revokedSessions.keys()],
})

/** As the control plane takes it. An error's own `code` (`ENOENT`) is kept where it is a word. */
function failureOf(e: unknown): ApplyFailure {
  const code = e instanceof Error && 'code' in e ? String(e.code).toLowerCase() : ''
  const said = (e instanceof Error ? e.message : String(e))
    .slice(0, mostDetail)
    .toWellFormed()
    .replaceAll('\0', '\ufffd')
  return { code: /^[a-z][a-z0-9_]{0,63}$/.test(code) ? code : 'apply_failed', detail: said || 'no reason was given' }
}
