import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { purgeTime } from '../../db/kept.ts'
import { deleting } from '../../db/retention.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { ExpiringObject } from '../../kernel/expiring-object.ts'

/** An item that has passed a threshold. Administrators are notified of each pair once. */
export type PassedThreshold = Pick<ExpiringObject, 'type' | 'id'> & { endsAt: Date; days: number }
const given = (passed: readonly PassedThreshold[]) => sql`unnest(${passed.map((p) => p.type)}::text[],
  ${passed.map((p) => p.id)}::text[], ${passed.map((p) => p.endsAt.toISOString())}::timestamptz[],
  ${passed.map((p) => p.days)}::int[]) with ordinality as given (type, id, ends_at, days, position)`

/**
 * Claims items that nobody has claimed yet, and returns those in the given order. Of concurrent callers exactly one
 * claims each item.
 */
export const claim = async <P extends PassedThreshold & { cause: string }>(
  tx: Tx,
  tenant: TenantId,
  passed: readonly P[],
  at: Date,
): Promise<P[]> => {
  const { rows } = await sql<{ type: string; id: string; ends_at: Date; days: number }>`
    insert into expiry_warnings (tenant_id, type, id, ends_at, days, cause, warned_at)
    select ${tenant}, type, id, ends_at, days, (${passed.map((p) => p.cause)}::text[])[position], ${at}::timestamptz
      from ${given(passed)} order by type, id, ends_at, days
    on conflict do nothing returning type, id, ends_at, days`.execute(tx)
  const claimed = new Set(rows.map((r) => keyOf({ ...r, endsAt: r.ends_at })))
  return passed.filter((p) => claimed.delete(keyOf(p)))
}
const keyOf = ({ type, id, endsAt, days }: Omit<PassedThreshold, 'type'> & { type: string }) =>
  `${type} ${id} ${endsAt.toISOString()} ${days}`

/** Returns the causes of the notifications that already cover these items. */
export const causesOf = async (tx: Tx, tenant: TenantId, passed: readonly PassedThreshold[]): Promise<Set<string>> => {
  const { rows } = await sql<{ cause: string }>`
    select distinct w.cause from ${given(passed)}
      join expiry_warnings w on w.tenant_id = ${tenant}
        and w.type = given.type and w.id = given.id and w.ends_at = given.ends_at and w.days = given.days`.execute(tx)
  return new Set(rows.map((r) => r.cause))
}

/**
 * Kept as long as acknowledged notifications. An item that ended so long ago and is still in use is warned of again.
 */
export const pruneWarnings = deleting('expiry_warnings', sql`warned_at < ${purgeTime} - interval '180 days'`)
