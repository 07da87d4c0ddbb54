import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** The newest use of a token, and the number of refused ones. */
export type TokenAttempts = Tables['enrollment_attempts']

/**
 * Expects one row per token. The newest use wins, whichever replica writes last; refusals are added up. Writes rows of
 * all tenants.
 */
export const addAttempts = (tx: Tx, attempts: readonly TokenAttempts[]) =>
  sql`insert into enrollment_attempts as a
      (tenant_id, token_id, refused, last_at, outcome, reason, source_ip, platform)
    select m.tenant_id, m.token_id, m.refused, m.last_at, m.outcome, m.reason, m.source_ip, m.platform
      from jsonb_to_recordset(${JSON.stringify(attempts)}::jsonb) as m (tenant_id uuid, token_id uuid, refused bigint,
        last_at timestamptz, outcome text, reason text, source_ip text, platform text)
     order by 1, 2
    on conflict (tenant_id, token_id) do update set
      refused = a.refused + excluded.refused,
      outcome = case when excluded.last_at >= a.last_at then excluded.outcome else a.outcome end,
      reason = case when excluded.last_at >= a.last_at then excluded.reason else a.reason end,
      source_ip = case when excluded.last_at >= a.last_at then excluded.source_ip else a.source_ip end,
      platform = case when excluded.last_at >= a.last_at then excluded.platform else a.platform end,
      last_at = greatest(a.last_at, excluded.last_at)`.execute(tx)

/** By token. A token without uses has no entry. */
export const attemptsOf = async (
  tx: Tx,
  tenant: TenantId,
  tokenIds: readonly string[],
): Promise<ReadonlyMap<string, TokenAttempts>> => {
  if (tokenIds.length === 0) return new Map()
  const rows = await tx
    .selectFrom('enrollment_attempts')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('token_id', '=', sql<string>`any(${tokenIds}::uuid[])`)
    .execute()
  return new Map(rows.map((row) => [row.token_id, row]))
}
