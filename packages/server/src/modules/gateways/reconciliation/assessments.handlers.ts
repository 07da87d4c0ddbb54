import type { Output } from '@holdfast/contract'
import type { connectionTruth } from '@holdfast/contract/connection-truth'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { second } from '../../../kernel/time.ts'
import { type Assessments, type ConnectionFilter, type ShownConnection, userOf } from './assessments.ts'
import type { DeviceWord, SessionWord } from './witness-reports.queries.ts'

type View = Output<typeof connectionTruth>['items'][number]

export const reconciliationHandlers = (assessments: Assessments) =>
  ({
    connectionTruth: async ({ actor, query }) => {
      const { verdict, limit, cursor, ...given } = query
      const page = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
      const { items, next_cursor, counts } = await assessments.list(actor.tenantId, verdict, readFilter(given), page)
      return { items: items.map(view), next_cursor, in_question: counts }
    },
  }) satisfies Partial<Handlers>

type Given = { device_id?: string; user_id?: string; gateway_id?: string }

/** Converts TypeIDs to UUIDs. */
const readFilter = ({ device_id, user_id, gateway_id }: Given): ConnectionFilter => ({
  ...(device_id !== undefined && { deviceId: idOf('device', device_id) }),
  ...(user_id !== undefined && { userId: idOf('user', user_id) }),
  ...(gateway_id !== undefined && { gatewayId: idOf('gateway', gateway_id) }),
})

const time = (at: Date | null | undefined): string | null => at?.toISOString() ?? null

function view(c: ShownConnection): View {
  const { key, at, session, claim, device, poolId, decision } = c
  const age = (then: Date) => Math.max(0, Math.floor((at.getTime() - then.getTime()) / second))
  const userId = userOf(c)
  const now = { at: at.toISOString(), age_seconds: 0 }
  return {
    device_id: encodeId('device', key.deviceId),
    device_name: c.deviceName ?? null,
    user_id: userId && encodeId('user', userId),
    user_name: c.names.of('user', userId),
    gateway_id: key.gatewayId && encodeId('gateway', key.gatewayId),
    gateway_name: c.names.of('gateway', key.gatewayId),
    pool_id: poolId && encodeId('gateway_pool', poolId),
    pool_name: c.names.of('gateway_pool', poolId),
    session_id: session ? encodeId('vpn_session', session.session_id) : null,
    verdict: c.verdict,
    since: time(c.since),
    disagreements: c.disagreements.map((d) => (d.field === 'session_id' ? withSessionIds(d) : d)),
    control_plane: {
      ...now,
      device_status: statusOf(c),
      credential_expires_at: device ? new Date(device.credentialUntil).toISOString() : null,
      certificate_expires_at: time(c.certificateEnd),
      posture_verdict: c.posture,
      policy_digest: decision.digest,
      session_state: session?.state ?? null,
      end_reason: session?.end_reason ?? null,
    },
    gateway: session ? viewGateway(session, age) : null,
    device: claim ? viewDevice(claim, age) : null,
    policy: {
      ...now,
      allowed: decision.allowed,
      reason: decision.reason,
      allowed_until: decision.allowedUntil === null ? null : new Date(decision.allowedUntil).toISOString(),
    },
  }
}

function statusOf({ device, deviceName }: ShownConnection): View['control_plane']['device_status'] {
  if (device) return device.isSuspended ? 'suspended' : device.status
  return deviceName === undefined ? 'unknown' : 'revoked'
}

const sessionId = (uuid: string | null): string | null => uuid && encodeId('vpn_session', uuid)
const withSessionIds = (d: View['disagreements'][number]) => ({
  ...d,
  control_plane: sessionId(d.control_plane),
  gateway: sessionId(d.gateway),
  device: sessionId(d.device),
})

const viewGateway = (s: SessionWord, age: (then: Date) => number): NonNullable<View['gateway']> => ({
  at: s.last_seen_at.toISOString(),
  age_seconds: age(s.last_seen_at),
  state: s.gateway_state,
  policy_digest: s.policy_digest,
  assigned_ip: s.assigned_ip,
  source_ip: s.source_ip,
  defied_since: time(s.defied_since),
})

const viewDevice = (d: DeviceWord, age: (then: Date) => number): NonNullable<View['device']> => ({
  at: d.said_at.toISOString(),
  age_seconds: age(d.said_at),
  state: d.state,
  since: d.since.toISOString(),
  session_id: sessionId(d.session_id),
  policy_digest: d.policy_digest,
  latency_ms: d.latency_ms,
  reason: d.reason,
})
