import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { RecordedSession, ReportedDevice } from '../../../db/tables/gateways.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/**
 * Returns devices that were connected, or reported that they could not connect, since a time; and whether they had
 * denied packets or failures since.
 */
export const reportedSince = async (tx: Tx, tenant: TenantId, since: Date): Promise<ReportedDevice[]> =>
  (
    await sql<ReportedDevice>`
      select device_id, bool_or(denied) as denied, bool_or(failed) as failed from (
        select device_id, coalesce(last_denied_at >= ${since}, false) as denied, false as failed from vpn_sessions
          where tenant_id = ${tenant} and state = 'active' and ended_at is null and last_seen_at >= ${since}
        union all
        select device_id, coalesce(last_denied_at >= ${since}, false), false from vpn_sessions
          where tenant_id = ${tenant} and state = 'ended' and ended_at >= ${since}
        union all
        select device_id, false, kind = 'failed' from telemetry_events
          where tenant_id = ${tenant} and at >= ${since} and received_at >= ${since}
            and kind in ('connected', 'failed')) as heard
      group by device_id`.execute(tx)
  ).rows

/** Returns sessions of the last days with bytes of named resources, newest first. */
export const recordedSessions = async (
  tx: Tx,
  tenant: TenantId,
  { days, limit }: { days: number; limit: number },
): Promise<RecordedSession[]> =>
  (
    await sql<RecordedSession>`
      select session_id, device_id, user_id, started_at, last_seen_at, source_ip,
        array(select jsonb_object_keys(resources) order by 1) as resources
      from vpn_sessions
      where tenant_id = ${tenant} and started_at >= now() - make_interval(days => ${days}) and resources <> '{}'
      order by started_at desc, session_id desc limit ${limit}`.execute(tx)
  ).rows

/** Returns the creation time of the first gateway that has reported and is in an enabled pool. */
export const firstGatewayAt = async (tx: Tx, tenant: TenantId): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('gateways as g')
    .innerJoin('gateway_pools as p', (join) =>
      join.onRef('p.tenant_id', '=', 'g.tenant_id').onRef('p.pool_id', '=', 'g.pool_id'),
    )
    .innerJoin('gateway_activity as a', (join) =>
      join.onRef('a.tenant_id', '=', 'g.tenant_id').onRef('a.gateway_id', '=', 'g.gateway_id'),
    )
    .select('g.created_at')
    .where('g.tenant_id', '=', tenant)
    .where('g.deleted_at', 'is', null)
    .where('p.enabled', '=', true)
    .orderBy('g.created_at')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at
}

/** Returns the start of the oldest VPN session that is still stored. */
export const firstSessionAt = async (tx: Tx, tenant: TenantId): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('vpn_sessions')
    .select('started_at')
    .where('tenant_id', '=', tenant)
    .orderBy('started_at')
    .orderBy('session_id')
    .limit(1)
    .executeTakeFirst()
  return row?.started_at
}
