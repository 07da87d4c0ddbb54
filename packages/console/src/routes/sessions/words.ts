import type { OutputOf } from '../../api/client.ts'
import type { Mark } from '../../ui/status.tsx'

export type Session = OutputOf<'GET /v1/admin/sessions'>['items'][number]
export type Gateway = OutputOf<'GET /v1/admin/gateway/health'>['items'][number]
/** Sessions to end: some of the shown ones, or all active ones that match a filter of the list. */
export type SessionTarget =
  | { sessions: readonly Pick<Session, 'session_id' | 'device_id' | 'device_name'>[] }
  | { filter: Readonly<Record<string, string>>; matched: number; names: readonly string[] }

/** A gateway reports each session once a minute: after three missed reports the figures are stale. */
const staleAfterMs = 3 * 60_000

export const nameOf = ({ device_name, device_id }: Pick<Session, 'device_name' | 'device_id'>): string =>
  device_name ?? device_id

/** Returns the seconds since the last report of an active session; undefined unless the report is stale. */
export function silentSeconds({ state, last_seen_at }: Session, now: number): number | undefined {
  const age = now - Date.parse(last_seen_at)
  return state === 'active' && age > staleAfterMs ? Math.round(age / 1000) : undefined
}

/**
 * Returns the state of a session's policy: in force if its gateway enforces the assigned policy or a newer one.
 *
 * @param gateway - gateway of the session, if known
 */
export function policyOf(session: Session, gateway: Gateway | undefined): { mark?: Mark; label: string } {
  const { policy_digest, assigned_digest } = session
  if (policy_digest === null) return { label: 'not reported' }
  if (session.state === 'active' && gateway?.policy.behind) return { mark: 'warn', label: 'behind' }
  if (policy_digest === assigned_digest) return { label: 'in force' }
  return { label: gateway && session.state === 'active' ? 'in force' : 'changed since' }
}

/** Options of `holdfast session` by API parameter. */
export const cliOptions = {
  device_id: 'device',
  user_id: 'user',
  gateway_id: 'gateway',
  pool_id: 'pool',
  sort: false,
} as const

/** Times for which the gateways of the pool refuse a device after its session was ended. */
export const blockTimes = [
  { value: '0', label: 'Not at all: they may connect again at once' },
  { value: '300', label: '5 minutes' },
  { value: '900', label: '15 minutes' },
  { value: '3600', label: '1 hour' },
] as const
export const defaultBlock = '300'
