import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type SessionHit = {
  session_id: string
  device_id: string
  user_id: string | null
  gateway_id: string
  device_name: string | null
  source_ip: string | null
  assigned_ip: string | null
}

/** Returns the newest active sessions of each of these ids, by index, so that no row is read in vain. */
export const findActiveOf = async (
  tx: Tx,
  tenant: TenantId,
  column: 'session_id' | 'device_id' | 'user_id',
  ids: readonly string[],
  most: number,
): Promise<SessionHit[]> => {
  const { rows } = await sql<SessionHit>`
    select s.session_id, s.device_id, s.user_id, s.gateway_id, s.source_ip, s.assigned_ip,
      (select d.name from devices d where d.tenant_id = ${tenant} and d.device_id = s.device_id) as device_name
    from unnest(${ids}::uuid[]) as sought (id)
    cross join lateral (
      select * from vpn_sessions v
      where v.tenant_id = ${tenant} and v.${sql.ref(column)} = sought.id and v.state = 'active' and v.ended_at is null
      order by v.started_at desc, v.session_id desc limit ${most}) as s
    limit ${most}`.execute(tx)
  return rows
}
