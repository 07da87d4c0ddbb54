import type { Output } from '@holdfast/contract'
import type { gatewayHealth } from '@holdfast/contract/gateway-health'
import { day, second } from '../../../kernel/time.ts'
import { mostOffsetMs } from '../reports/instant.ts'
import type { closedBy } from '../sync/own-part.ts'

type Problem = Output<typeof gatewayHealth>['items'][number]['problems'][number]

const certificateWarningMs = 14 * day
const closures: Record<NonNullable<ReturnType<typeof closedBy>>, string> = {
  gateway_locked: 'it is locked',
  pool_disabled: 'its pool is disabled',
  gateway_pending: 'its key waits for approval by an administrator',
}

/** Problems of a gateway other than its silence. Times are in ms. */
export function problemsOf(
  g: {
    closed: ReturnType<typeof closedBy>
    applyError: { code: string; detail: string } | null
    isBehind: boolean
    clockOffsetMs: number | null
    certificateEnd: number | null
    standsByUntil: number | null
    sessions: number
    share: number | null
    inQuestion: { stale: number; conflict: number; unauthorized: number }
  },
  nowMs: number,
): Problem[] {
  const problems: Problem[] = []
  const add = (code: Problem['code'], detail: string) => problems.push({ code, detail })
  const { unauthorized, conflict, stale } = g.inQuestion
  if (unauthorized > 0)
    add(
      'unauthorized_connections',
      `It reports connections that the policy does not allow: ${connections(unauthorized)}. Check that it receives and applies its policy.`,
    )
  if (g.closed) add('closed', `No device may use it: ${closures[g.closed]}.`)
  if (g.applyError) add('apply_error', `It could not apply its policy (${g.applyError.code}): ${g.applyError.detail}`)
  if (g.isBehind) add('policy_behind', 'It received a policy at least a minute ago and has not confirmed it.')
  if (g.clockOffsetMs !== null && Math.abs(g.clockOffsetMs) >= mostOffsetMs) {
    const seconds = Math.round(Math.abs(g.clockOffsetMs) / second)
    add('clock_offset', `Its clock is ${seconds} s ${g.clockOffsetMs > 0 ? 'ahead' : 'behind'}.`)
  }
  if (g.certificateEnd !== null && g.certificateEnd <= nowMs)
    add('certificate_expired', `Its certificate expired at ${new Date(g.certificateEnd).toISOString()}.`)
  else if (g.certificateEnd !== null && g.certificateEnd - nowMs < certificateWarningMs)
    add('certificate_expiring', `Its certificate expires at ${new Date(g.certificateEnd).toISOString()}.`)
  if (conflict > 0)
    add(
      'connections_in_conflict',
      `Its reports contradict those of devices or of this server: ${connections(conflict)}.`,
    )
  if (stale > 0) add('unmetered', `It no longer reports traffic of open sessions: ${connections(stale)}.`)
  if (g.standsByUntil !== null)
    add(
      'unsteady',
      `It was down recently. Devices prefer other gateways until ${new Date(g.standsByUntil).toISOString()}.`,
    )
  if (g.share !== null && g.sessions >= g.share)
    add(
      'full',
      `It is full: it has ${g.sessions} sessions, and its share of the pool's capacity is ${Math.floor(g.share)}.`,
    )
  return problems
}

const connections = (n: number) => (n === 1 ? '1 connection' : `${n} connections`)
