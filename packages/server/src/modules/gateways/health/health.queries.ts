import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { ChangeKind } from '../../../memory/changes.ts'

/** The number of the newest change that gateways had to be told of, at least until then; 0 where none is held. */
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

/** Connections in question of these gateways, by verdict. */
export const questionsOfGateways = (tx: Tx, tenant: TenantId, gatewayIds: readonly string[]) =>
  sql<{ gateway_id: string; verdict: 'stale' | 'conflict' | 'unauthorized'; connections: number }>`
    select gateway_id, verdict, count(*) as connections from connections_in_question
    where tenant_id = ${tenant} and gateway_id = any(${gatewayIds}::uuid[]) and verdict is not null
    group by gateway_id, verdict`
    .execute(tx)
    .then((r) => r.rows)
