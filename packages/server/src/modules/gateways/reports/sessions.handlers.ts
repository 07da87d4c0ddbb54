import type { Output } from '@holdfast/contract'
import { aOrAn, type Noun } from '@holdfast/contract/vocabulary'
import type { getSession, listSessions } from '@holdfast/contract/vpn-sessions'
import type { ResourceBytes } from '../../../db/tables/gateways.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { failField } from '../../../kernel/app-error.ts'
import { decodeId, encodeId, idOf } from '../../../kernel/ids.ts'
import type { SessionFilter } from './sessions.queries.ts'
import type { Session, VpnSessions } from './sessions.ts'

export const vpnSessionHandlers = (sessions: VpnSessions) =>
  ({
    listSessions: async ({ actor, query }) => {
      const { state = 'active', limit, cursor, sort, ...given } = query
      const found = await sessions.list(actor.tenantId, state, readFilter(given), {
        ...(limit !== undefined && { limit }),
        ...(cursor !== undefined && { cursor }),
        ...(sort !== undefined && { sort }),
      })
      return { items: found.items.map(viewSession), next_cursor: found.next_cursor }
    },
    getSession: async ({ actor, params }) => {
      const session = await sessions.get(actor.tenantId, idOf('vpn_session', params.session_id))
      return { ...viewSession(session), resources: viewResources(session.resources) }
    },
    terminateSessions: async ({ actor, body }) => {
      const { blockUntil, ...counts } = await sessions.terminate(actor, readChoice(body), body)
      return { ...counts, block_until: blockUntil?.toISOString() ?? null }
    },
  }) satisfies Partial<Handlers>

const filterNouns = { device_id: 'device', user_id: 'user', gateway_id: 'gateway', pool_id: 'gateway_pool' } as const
type GivenFilter = { [K in keyof typeof filterNouns]?: string }

/** Converts TypeIDs to UUIDs. A malformed one in a body is a 422 that names it; in a query it was refused before. */
function readFilter(given: GivenFilter): SessionFilter {
  const filter: SessionFilter = {}
  for (const [field, noun] of Object.entries(filterNouns) as [keyof typeof filterNouns, Noun][]) {
    const text = given[field]
    if (text === undefined) continue
    filter[field] = decodeId(noun, text) ?? failField(`filter.${field}`, `is not the id of ${aOrAn(noun)}`)
  }
  return filter
}

/** Reads the choice of sessions: either ids, or a filter with at least one field. */
function readChoice(body: {
  session_ids?: string[]
  filter?: GivenFilter
}): { ids: string[] } | { filter: SessionFilter } {
  const { session_ids, filter } = body
  if ((session_ids === undefined) === (filter === undefined))
    failField('session_ids', 'give either session_ids or filter')
  if (filter === undefined) return { ids: (session_ids ?? []).flatMap((id) => decodeId('vpn_session', id) ?? []) }
  if (Object.keys(filter).length === 0) failField('filter', 'is empty: give device_id, user_id, gateway_id or pool_id')
  return { filter: readFilter(filter) }
}

const viewSession = ({ row: s, names }: Session): Output<typeof listSessions>['items'][number] => ({
  session_id: encodeId('vpn_session', s.session_id),
  device_id: encodeId('device', s.device_id),
  device_name: names.of('device', s.device_id),
  user_id: s.user_id === null ? null : encodeId('user', s.user_id),
  user_name: names.of('user', s.user_id),
  gateway_id: encodeId('gateway', s.gateway_id),
  gateway_name: names.of('gateway', s.gateway_id),
  pool_id: encodeId('gateway_pool', s.pool_id),
  pool_name: names.of('gateway_pool', s.pool_id),
  state: s.state,
  started_at: s.started_at.toISOString(),
  last_seen_at: s.last_seen_at.toISOString(),
  ended_at: s.ended_at?.toISOString() ?? null,
  end_reason: s.end_reason,
  block_until: s.block_until?.toISOString() ?? null,
  source_ip: s.source_ip,
  assigned_ip: s.assigned_ip,
  protocol: s.protocol,
  client_version: s.client_version,
  auth_method: s.auth_method,
  policy_digest: s.policy_digest,
  assigned_digest: s.assigned_digest,
  posture_verdict: s.posture_verdict,
  rx_bytes: s.rx_bytes,
  tx_bytes: s.tx_bytes,
  rx_packets: s.rx_packets,
  tx_packets: s.tx_packets,
  denied_packets: s.denied_packets,
  latest_handshake_at: s.latest_handshake_at?.toISOString() ?? null,
  source_port: s.source_port,
})

/** Sorted by bytes, most first. */
const viewResources = (resources: ResourceBytes): Output<typeof getSession>['resources'] =>
  Object.entries(resources)
    .map(([resource, [rx_bytes, tx_bytes]]) => ({ resource, rx_bytes, tx_bytes }))
    .sort((a, b) => b.rx_bytes + b.tx_bytes - a.rx_bytes - a.tx_bytes || (a.resource < b.resource ? -1 : 1))
