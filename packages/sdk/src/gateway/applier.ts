import { backoffSeconds, type Random } from '../backoff.ts'
import type { GatewayChange, GatewayState } from './state.ts'

/**
 * Reason why the policy in force is not enforced: a code for programs (`apply_failed` if the error has none), and a
 * sentence for people.
 */
export type ApplyFailure = { code: string; detail: string }

type Apply = (change: GatewayChange, state: GatewayState) => void | Promise<void>

const mostDetail = 512
/** Longest pause in seconds between two attempts to apply the same state. */
const longestPause = 15

/**
 * Passes changes to the callback that enforces them, one at a time. A change counts as applied when the callback has
 * settled. After a failure the whole state is passed, until it is applied.
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
      // The state has no change to enforce.
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
    /** The enforced `seq`, and the error that prevents a newer one; null before the first attempt. */
    get enforced(): Readonly<{ seq: number | null; failure: ApplyFailure | null }> | null {
      return enforced
    },
    /** Marks the held state as enforced, for callers that enforce it themselves. */
    confirm: (): void => {
      const current = state()
      if (current) enforced = { seq: current.seq, failure: null }
    },
    get isRetryDue(): boolean {
      return performance.now() >= retryAt
    },
    /** Settles when the callback has settled; never rejects. */
    hand: (change: GatewayChange | null, apply: Apply, onError: (e: unknown) => void): Promise<void> => {
      const handed = last.then(() => hand(change, apply, onError))
      last = handed
      return handed
    },
  }
}

/** Returns the whole state as a change, after a failure or at the start. Devices that it does not name are no peers. */
export const wholeOf = ({ seq, peers, revokedDevices, revokedSessions }: GatewayState): GatewayChange => ({
  kind: 'snapshot',
  seq,
  moved: [],
  peers: [...peers.keys()],
  removedPeers: [],
  revokedDevices: [...revokedDevices],
  revokedSessions: [...revokedSessions.keys()],
})

/** Returns the error in the API's form. An error's own `code` (`ENOENT`) is kept if it has the form of a code. */
function failureOf(e: unknown): ApplyFailure {
  const code = e instanceof Error && 'code' in e ? String(e.code).toLowerCase() : ''
  const said = (e instanceof Error ? e.message : String(e))
    .slice(0, mostDetail)
    .toWellFormed()
    .replaceAll('\0', '\ufffd')
  return { code: /^[a-z][a-z0-9_]{0,63}$/.test(code) ? code : 'apply_failed', detail: said || 'no reason was given' }
}
