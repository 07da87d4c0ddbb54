import { degradedAfterMs, downAfterMs, type GatewayStatus, type Standing, statusOf } from '../reports/status.ts'

/** The recorded state of a gateway, and since when (ms). */
export type Recorded = { state: GatewayStatus; sinceMs: number }
export type Transition = { atMs: number; before: GatewayStatus | null; state: GatewayStatus }
export type Facts = {
  gateway: Standing & { drainedAtMs: number | null; createdAtMs: number }
  lastSeenMs: number | null
  /** Its last silence that a report has ended. */
  silence: { fromMs: number; toMs: number } | null
  /** Since when the deployment listens: an earlier silence is not the gateway's. */
  listenedSinceMs: number
}

/** A gateway that is recorded for the first time has had its state since its creation if that is so recent. */
const recentMs = 5 * downAfterMs

/**
 * The changes of state since what is on record, the oldest first. Each has a later time than the one before, and none
 * lies in the future.
 */
export function transitionsOf(recorded: Recorded | undefined, facts: Facts, nowMs: number): Transition[] {
  const { gateway, lastSeenMs, silence, listenedSinceMs } = facts
  const heardMs = lastSeenMs === null ? null : Math.max(lastSeenMs, listenedSinceMs)
  const { status } = statusOf(gateway, heardMs, nowMs)
  if (!recorded) {
    const isRecent = nowMs - gateway.createdAtMs < recentMs
    return [{ atMs: isRecent ? Math.min(gateway.createdAtMs, nowMs) : nowMs, before: null, state: status }]
  }
  const moves = createMoves(recorded, nowMs)
  if (status === 'draining') moves.add(status, gateway.drainedAtMs ?? nowMs)
  else if (status === 'pending' || status === 'never_seen' || heardMs === null || lastSeenMs === null)
    moves.add(status, nowMs)
  else {
    // A silence that nobody listened to says nothing: the record stays until there is a report, or enough silence.
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

/** States that follow from when a gateway was heard of. */
const bySilence: ReadonlySet<GatewayStatus> = new Set(['healthy', 'degraded', 'down'])

function createMoves({ state: first, sinceMs }: Recorded, nowMs: number) {
  const list: Transition[] = []
  let [state, since] = [first, sinceMs]
  /** A state that holds now; its time is put behind what is on record. */
  const add = (next: GatewayStatus, atMs: number): void => {
    if (next === state || since >= nowMs) return
    const at = Math.max(Math.min(atMs, nowMs), since + 1)
    list.push({ atMs: at, before: state, state: next })
    ;[state, since] = [next, at]
  }
  return {
    list,
    add,
    /** A state that has been: left out where the record is newer, or where it would not have begun before its end. */
    addPast: (next: GatewayStatus, atMs: number, endMs: number): void => {
      if (atMs > since && atMs < endMs) add(next, atMs)
    },
  }
}
