import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { SystemLoad } from '../../../db/tables/gateways.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Values that a gateway reported; null if it did not report one. */
export type GatewayReport = {
  tenantId: TenantId
  gatewayId: string
  at: Date
  bootId: string
  version: string | null
  activeSessions: number | null
  rxBps: number | null
  txBps: number | null
  policyDigest: string | null
  policySeq: number | null
  trustVersion: number | null
  applyError: ApplyError | 'none' | null
  system: SystemLoad | null
  clockOffsetMs: number | null
  certificateExpiresAt: Date | null
}
type ApplyError = { code: string; detail: string }

/**
 * Stores reports of gateways of all tenants in one statement, one report each. The newest report wins. Missing values
 * keep the old ones, unless the gateway was restarted. Returns for each stored report the time since when the gateway
 * is up again after being down; null if it never was down.
 */
export const upsertActivity = async (
  tx: Tx,
  reports: readonly GatewayReport[],
  { degradedAfterMs, downAfterMs }: { degradedAfterMs: number; downAfterMs: number },
) => {
  const column = <T>(of: (r: GatewayReport) => T) => reports.map(of)
  const reportRows = sql.join(
    sayable.map((name) => {
      const [now, before] = [sql.ref(`excluded.${name}`), sql.ref(`a.${name}`)]
      return sql`${sql.ref(name)} = coalesce(${now}, case when a.boot_id = excluded.boot_id then ${before} end)`
    }),
  )
  const wasSilent = sql`excluded.last_seen_at - a.last_seen_at >= make_interval(secs => ${degradedAfterMs / 1000})`
  const { rows } = await sql<{ gateway_id: string; up_since: Date | null }>`
    insert into gateway_activity as a (tenant_id, gateway_id, last_seen_at, boot_id, ${sql.join(sayable.map((n) => sql.ref(n)))},
      applied_seq_at)
    select * from unnest(${column((r) => r.tenantId)}::uuid[], ${column((r) => r.gatewayId)}::uuid[],
      ${column((r) => r.at)}::timestamptz[], ${column((r) => r.bootId)}::text[], ${column((r) => r.version)}::text[],
      ${column((r) => r.activeSessions)}::bigint[], ${column((r) => r.rxBps)}::bigint[], ${column((r) => r.txBps)}::bigint[],
      ${column((r) => r.policyDigest)}::text[], ${column((r) => r.policySeq)}::bigint[],
      ${column((r) => r.trustVersion)}::bigint[], ${column(appliedAt)}::timestamptz[],
      ${column(applyError)}::jsonb[], ${column((r) => r.system && JSON.stringify(r.system))}::jsonb[],
      ${column((r) => r.clockOffsetMs)}::bigint[], ${column((r) => r.certificateExpiresAt)}::timestamptz[],
      ${column((r) => (r.policySeq === null ? null : r.at))}::timestamptz[])
    order by 1, 2
    on conflict (tenant_id, gateway_id) do update set last_seen_at = excluded.last_seen_at, boot_id = excluded.boot_id,
      up_since = case when excluded.last_seen_at - a.last_seen_at >= make_interval(secs => ${downAfterMs / 1000})
        then excluded.last_seen_at else a.up_since end,
      silent_from = case when ${wasSilent} then a.last_seen_at else a.silent_from end,
      heard_again_at = case when ${wasSilent} then excluded.last_seen_at else a.heard_again_at end,
      applied_seq_at = case when excluded.applied_policy_seq is distinct from a.applied_policy_seq
        then coalesce(excluded.applied_seq_at, a.applied_seq_at) else a.applied_seq_at end, ${reportRows}
    where a.last_seen_at <= excluded.last_seen_at
    returning gateway_id, up_since`.execute(tx)
  return new Map(rows.map((r) => [r.gateway_id, r.up_since]))
}
/** Columns that a report may leave out. */
const sayable = [
  'version',
  'active_sessions',
  'rx_bps',
  'tx_bps',
  'applied_policy_digest',
  'applied_policy_seq',
  'applied_trust_version',
  'applied_at',
  'apply_error',
  'system',
  'clock_offset_ms',
  'certificate_expires_at',
] as const

const appliedAt = (r: GatewayReport): Date | null =>
  r.policyDigest === null && r.policySeq === null && r.trustVersion === null ? null : r.at

/** "No error" is stored as the null of JSON. */
const applyError = ({ applyError: reportedError, at }: GatewayReport): string | null =>
  reportedError && JSON.stringify(reportedError === 'none' ? null : { ...reportedError, at })

export type SessionPeak = { tenantId: TenantId; gatewayId: string; hour: Date; sessions: number }
/** Raises the maximum of sessions per gateway and hour, for gateways of all tenants. */
export const raiseSessionPeaks = (tx: Tx, peaks: readonly SessionPeak[]) =>
  sql`
    insert into gateway_hours as h (tenant_id, gateway_id, hour, sessions_most)
    select * from unnest(${peaks.map((p) => p.tenantId)}::uuid[], ${peaks.map((p) => p.gatewayId)}::uuid[],
      ${peaks.map((p) => p.hour)}::timestamptz[], ${peaks.map((p) => p.sessions)}::bigint[])
    order by 1, 2, 3
    on conflict (tenant_id, gateway_id, hour) do update set sessions_most = excluded.sessions_most
    where h.sessions_most < excluded.sessions_most`.execute(tx)

/** Selects across tenants the gateways that reported before, but not since `before`. Draining ones are left out. */
export const silentSince = (tx: Tx, before: Date) =>
  tx
    .selectFrom('gateway_activity as a')
    .innerJoin('gateways as g', (j) =>
      j.onRef('g.tenant_id', '=', 'a.tenant_id').onRef('g.gateway_id', '=', 'a.gateway_id'),
    )
    .select(['g.tenant_id', 'g.gateway_id', 'g.name', 'a.last_seen_at'])
    .where('g.deleted_at', 'is', null)
    .where('g.draining', '=', false)
    .where('a.last_seen_at', '<=', before)
    .execute()
