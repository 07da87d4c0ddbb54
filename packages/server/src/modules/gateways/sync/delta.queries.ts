import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { ChangeKind } from '../../../replication/changes.ts'

/** Returns the oldest sequence number in the change log. */
export const oldestSeq = async (tx: Tx, tenant: TenantId): Promise<number | undefined> => {
  const row = await tx
    .selectFrom('changes')
    .select('seq')
    .where('tenant_id', '=', tenant)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst()
  return row?.seq
}

/** Returns the subjects that were changed after `since` and up to `seq`, each once. */
export const touchedBetween = (
  tx: Tx,
  tenant: TenantId,
  { since, seq, limit }: { since: number; seq: number; limit: number },
  kinds: readonly ChangeKind[],
) =>
  tx
    .selectFrom('changes')
    .select(['kind', 'subject'])
    .distinct()
    .where('tenant_id', '=', tenant)
    .where('seq', '>', since)
    .where('seq', '<=', seq)
    .where('kind', 'in', kinds)
    .limit(limit)
    .execute()

export const firstChangeAfter = async (tx: Tx, tenant: TenantId, since: number): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('changes')
    .select('at')
    .where('tenant_id', '=', tenant)
    .where('seq', '>', since)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst()
  return row?.at
}

type Cut = { session_id: string; device_id: string; pool_id: string; block_until: Date | null }

/**
 * Returns ended sessions: these ids, and all that the control plane ended since a time. The reasons must match those of
 * the partial index.
 */
export const cutSessions = (tx: Tx, tenant: TenantId, ids: readonly string[], since: Date, limit: number) =>
  sql<Cut>`
    select session_id, device_id, pool_id, block_until from vpn_sessions
    where tenant_id = ${tenant} and end_reason in ('admin', 'revoked', 'suspended', 'entitlement_exceeded') and ended_at >= ${since}
    union
    select session_id, device_id, pool_id, block_until from vpn_sessions
    where tenant_id = ${tenant} and session_id = any(${ids}::uuid[]) and state = 'ended'
    limit ${limit}`
    .execute(tx)
    .then((r) => r.rows)

/**
 * Returns sessions of a pool that the control plane ended: since `cutSince`, or earlier if the device is still blocked.
 * Those of blocked devices come first, since no report of a gateway corrects a block that the gateway does not know.
 */
export const cutInPool = (
  tx: Tx,
  tenant: TenantId,
  poolId: string,
  { at, cutSince, blockedSince }: { at: Date; cutSince: Date; blockedSince: Date },
  limit: number,
) =>
  sql<Cut>`
    select session_id, device_id, pool_id, block_until from vpn_sessions
    where tenant_id = ${tenant} and end_reason in ('admin', 'revoked', 'suspended', 'entitlement_exceeded')
      and ended_at >= ${blockedSince} and pool_id = ${poolId} and (ended_at >= ${cutSince} or block_until > ${at})
    order by coalesce(block_until > ${at}, false) desc, ended_at desc limit ${limit}`
    .execute(tx)
    .then((r) => r.rows)
