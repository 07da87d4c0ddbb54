import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { ChangeKind } from '../../../replication/changes.ts'

/** Returns the sequence number of the newest change of these kinds up to a time; 0 if the change log has none. */
export const newestTold = async (
  tx: Tx,
  tenant: TenantId,
  kinds: readonly ChangeKind[],
  before: Date,
): Promise<number> => {
  const row = await tx
    .selectFrom('changes')
    .select('seq')
    .where('tenant_id', '=', tenant)
    .where('kind', 'in', kinds)
    .where('at', '<=', before)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.seq ?? 0
}

/** Counts the connections in question of these gateways, by verdict. */
export const questionsOfGateways = (tx: Tx, tenant: TenantId, gatewayIds: readonly string[]) =>
  sql<{ gateway_id: string; verdict: 'stale' | 'conflict' | 'unauthorized'; connections: number }>`
    select gateway_id, verdict, count(*) as connections from connections_in_question
    where tenant_id = ${tenant} and gateway_id = any(${gatewayIds}::uuid[]) and verdict is not null
    group by gateway_id, verdict`
    .execute(tx)
    .then((r) => r.rows)
