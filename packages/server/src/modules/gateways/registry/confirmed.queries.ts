import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { ChangeKind } from '../../../replication/changes.ts'

export type ChangeBefore = { kind: ChangeKind; subject: string; seq: number }
/**
 * Returns the changes of these kinds after a sequence number, newest first: the first `limit`, or those that were made
 * before one of them.
 */
export const changesSince = async (
  tx: Tx,
  tenant: TenantId,
  { kinds, since }: { kinds: readonly ChangeKind[]; since: number },
  before: ChangeBefore | undefined,
  limit: number,
) => {
  const { rows } = await sql<ChangeBefore>`
    select kind, subject, seq from changes
    where tenant_id = ${tenant} and seq > ${since} and kind = any(${kinds}::text[])
      and ${before ? sql`(seq, kind, subject) < (${before.seq}, ${before.kind}, ${before.subject}::uuid)` : sql`true`}
    order by seq desc, kind desc, subject desc limit ${limit}`.execute(tx)
  return rows
}

type Enforced = {
  gateway_id: string
  name: string
  last_seen_at: Date | null
  seq: number | null
  digest: string | null
  applied_at: Date | null
  /** Time of the first report that the gateway enforces `seq`; null if that was before this time was stored. */
  seq_at: Date | null
}
/**
 * Returns the gateways that are not locked, with the time of their last report and the policy that they report as
 * enforced, sorted by id.
 */
export const enforcedBy = async (tx: Tx, tenant: TenantId): Promise<Enforced[]> => {
  const { rows } = await sql<Enforced>`
    select g.gateway_id, g.name, a.last_seen_at, a.applied_policy_seq as seq, a.applied_policy_digest as digest,
        a.applied_at, a.applied_seq_at as seq_at
      from gateways g left join gateway_activity a on a.tenant_id = ${tenant} and a.gateway_id = g.gateway_id
     where g.tenant_id = ${tenant} and g.deleted_at is null
       and g.gateway_id not in (select * from locked_targets(${tenant}, 'gateway'))
     order by g.gateway_id`.execute(tx)
  return rows
}
