import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type SessionOutcome = 'on_it' | 'moved' | 'stuck' | 'left'
export type Affected = {
  device_id: string
  user_id: string | null
  session_id: string
  last_seen_at: Date
  ended_at: Date | null
  end_reason: string | null
  now_gateway_id: string | null
  now_session_id: string | null
  outcome: SessionOutcome
}
/** `saidSince`: earlier reports of devices about their tunnels are ignored. */
type Question = { gatewayId: string; since: Date; isSilent: boolean; saidSince: Date; after?: string | undefined }

const none = '00000000-0000-0000-0000-000000000000'

/**
 * Selects the devices (after a device id) that were on a gateway at a time or later. Each comes with its last session
 * there and its current gateway in the same pool. If the gateway is silent, the device's own report decides whether its
 * tunnel works. A session that ended only because of the silence does not count as left.
 */
const affected = (tenant: TenantId, { gatewayId, since, isSilent, saidSince, after = none }: Question) => sql`
  select a.device_id, a.user_id, a.session_id, a.last_seen_at, a.ended_at, a.end_reason, n.gateway_id as now_gateway_id,
    n.session_id as now_session_id, case
      when n.session_id is not null then 'moved'
      when a.state = 'ended' and (not ${isSilent}::boolean or a.end_reason not in ('timeout', 'gateway_down')) then 'left'
      when not ${isSilent}::boolean then 'on_it'
      when exists (select from device_claims c where c.tenant_id = ${tenant} and c.device_id = a.device_id
        and c.gateway_id = ${gatewayId} and c.state = 'connected' and c.said_at > ${saidSince}) then 'on_it'
      else 'stuck' end as outcome
  from (
    select distinct on (device_id) device_id, user_id, session_id, pool_id, state, last_seen_at, ended_at, end_reason
    from vpn_sessions v
    where v.tenant_id = ${tenant} and v.gateway_id = ${gatewayId} and v.device_id > ${after}
      and (v.state = 'active' and v.ended_at is null or v.state = 'ended' and v.ended_at >= ${since})
    order by device_id, state, started_at desc) as a
  left join lateral (
    select v.gateway_id, v.session_id from vpn_sessions v
    where v.tenant_id = ${tenant} and v.device_id = a.device_id and v.state = 'active' and v.ended_at is null
      and v.pool_id = a.pool_id and v.gateway_id <> ${gatewayId}
    order by v.started_at desc limit 1) as n on true`

export const countAffected = async (tx: Tx, tenant: TenantId, question: Question) => {
  const { rows } = await sql<{ outcome: SessionOutcome; devices: number }>`
    select outcome, count(*) as devices from (${affected(tenant, question)}) as affected group by outcome`.execute(tx)
  return rows
}

/** Sorted by device. */
export const listAffected = (
  tx: Tx,
  tenant: TenantId,
  question: Question,
  { outcome, most }: { outcome: SessionOutcome | undefined; most: number },
) =>
  sql<Affected>`
    select * from (${affected(tenant, question)}) as affected
    where ${outcome ?? null}::text is null or outcome = ${outcome ?? null}
    order by device_id limit ${most}`
    .execute(tx)
    .then((r) => r.rows)
