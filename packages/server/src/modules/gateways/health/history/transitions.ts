import {
  degradedAfterMs,
  downAfterMs,
  type GatewayStatus,
  gatewayStatusOf,
  type ReportedState,
} from '../../reports/status.ts'

/** The recorded state of a gateway and its start (ms). */
export type RecordedState = { state: GatewayStatus; sinceMs: number }
export type Transition = { atMs: number; before: GatewayStatus | null; state: GatewayStatus }
export type Facts = {
  gateway: ReportedState & { drainedAtMs: number | null; createdAtMs: number }
  lastSeenMs: number | null
  /** The last silence that a report ended. */
  silence: { fromMs: number; toMs: number } | null
  /** Start of the deployment's listening. A silence before it was not observed. */
  listenedSinceMs: number
}

/** A gateway without a recorded state gets its state from its creation on, if it is younger than this. */
const recentMs = 5 * downAfterMs

/**
 * Returns the state changes since the recorded state, oldest first. Each is later than the one before, and none is in
 * the future.
 */
export function transitionsOf(recorded: RecordedState | undefined, facts: Facts, nowMs: number): Transition[] {
  const { gateway, lastSeenMs, silence, listenedSinceMs } = facts
  const heardMs = lastSeenMs === null ? null : Math.max(lastSeenMs, listenedSinceMs)
  const { status } = gatewayStatusOf(gateway, heardMs, nowMs)
  if (!recorded) {
    const isRecent = nowMs - gateway.createdAtMs < recentMs
    return [{ atMs: isRecent ? Math.min(gateway.createdAtMs, nowMs) : nowMs, before: null, state: status }]
  }
  const moves = createMoves(recorded, nowMs)
  if (status === 'draining') moves.add(status, gateway.drainedAtMs ?? nowMs)
  else if (status === 'pending' || status === 'never_seen' || heardMs === null || lastSeenMs === null)
    moves.add(status, nowMs)
  else {
    // A silence while nobody listened proves nothing. The recorded state stays until a report, or enough observed
    // silence.
    const isUnjudged = lastSeenMs < listenedSinceMs && nowMs - listenedSinceMs < downAfterMs
    if (isUnjudged && bySilence.has(recorded.state)) return []
    if (silence && silence.fromMs >= listenedSinceMs && bySilence.has(recorded.state)) {
      moves.addPast('degraded', silence.fromMs + degradedAfterMs, silence.toMs)
      moves.addPast('down', silence.fromMs + downAfterMs, silence.toMs)
      moves.addPast('healthy', silence.toMs, nowMs + 1)
    }
    if (status === 'down') moves.addPast('degraded', heardMs + degradedAfterMs, nowMs)
    moves.add(status, heardMs + (status === 'down' ? downAfterMs : status === 'degraded' ? degradedAfterMs : 0))
  }
  return moves.list
}

/** States that follow from the time of the last report. */
const bySilence: ReadonlySet<GatewayStatus> = new Set(['healthy', 'degraded', 'down'])

function createMoves({ state: first, sinceMs }: RecordedState, nowMs: number) {
  const list: Transition[] = []
  let [state, since] = [first, sinceMs]
  /** Adds a current state. Its time is moved after the recorded one. */
  const add = (next: GatewayStatus, atMs: number): void => {
    if (next === state || since >= nowMs) return
    const at = Math.max(Math.min(atMs, nowMs), since + 1)
    list.push({ atMs: at, before: state, state: next })
    ;[state, since] = [next, at]
  }
  return {
    list,
    add,
    /** Adds a past state. It is skipped if the record is newer, or if it would not have begun before its end. */
    addPast: (next: GatewayStatus, atMs: number, endMs: number): void => {
      if (atMs > since && atMs < endMs) add(next, atMs)
    },
  }
}
