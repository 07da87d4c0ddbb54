import type { Output } from '@holdfast/contract'
import type { getGateway, getGatewayPool } from '@holdfast/contract/gateways'
import type { getSession } from '@holdfast/contract/vpn-sessions'
import { encodeId } from '../../../kernel/ids.ts'
import type { Session } from '../reports/sessions.ts'
import { statusOf } from '../reports/status.ts'
import type { Gateway } from './gateways.ts'
import type { Pool } from './pools.ts'

export const viewPool = (p: Pool): Output<typeof getGatewayPool> => ({
  pool_id: encodeId('gateway_pool', p.pool_id),
  tenant_id: encodeId('tenant', p.tenant_id),
  name: p.name,
  region: p.region,
  protocol: p.protocol,
  selection: p.selection,
  enabled: p.enabled,
  capacity: p.capacity,
  address_cidrs: p.address_cidrs,
  health_threshold: p.health_threshold,
  gateways: p.gateways,
  created_at: p.created_at.toISOString(),
  updated_at: p.updated_at.toISOString(),
})

export const viewGateway = ({ row, activity }: Gateway, nowMs: number): Output<typeof getGateway> => ({
  gateway_id: encodeId('gateway', row.gateway_id),
  tenant_id: encodeId('tenant', row.tenant_id),
  pool_id: encodeId('gateway_pool', row.pool_id),
  name: row.name,
  endpoints: row.endpoints,
  public_key: row.public_key,
  weight: row.weight,
  ...statusOf(row, activity?.last_seen_at.getTime() ?? null, nowMs),
  version: activity?.version ?? null,
  active_sessions: activity?.active_sessions ?? 0,
  rx_bps: activity?.rx_bps ?? 0,
  tx_bps: activity?.tx_bps ?? 0,
  last_seen_at: activity?.last_seen_at.toISOString() ?? null,
  applied: {
    policy_digest: activity?.applied_policy_digest ?? null,
    policy_seq: activity?.applied_policy_seq ?? null,
    trust_version: activity?.applied_trust_version ?? null,
    at: activity?.applied_at?.toISOString() ?? null,
  },
  created_at: row.created_at.toISOString(),
})

export const viewSession = ({ row: s, deviceName }: Session): Output<typeof getSession> => ({
  session_id: encodeId('vpn_session', s.session_id),
  device_id: encodeId('device', s.device_id),
  device_name: deviceName,
  user_id: s.user_id === null ? null : encodeId('user', s.user_id),
  gateway_id: encodeId('gateway', s.gateway_id),
  pool_id: encodeId('gateway_pool', s.pool_id),
  state: s.state,
  started_at: s.started_at.toISOString(),
  last_seen_at: s.last_seen_at.toISOString(),
  ended_at: s.ended_at?.toISOString() ?? null,
  end_reason: s.end_reason,
  source_ip: s.source_ip,
  assigned_ip: s.assigned_ip,
  protocol: s.protocol,
  client_version: s.client_version,
  auth_method: s.auth_method,
  policy_digest: s.policy_digest,
  posture_verdict: s.posture_verdict,
  rx_bytes: s.rx_bytes,
  tx_bytes: s.tx_bytes,
})
