import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { overBefore } from '../../../db/kept.ts'
import type { Prune } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** The oldest events of the log, with the time at which they were sequenced. */
const first = (tenant: TenantId, most: number) => sql`(
  select seq, sequenced_at from audit_log where tenant_id = ${tenant} and seq > (select audit_begins_after(${tenant}))
  order by seq limit ${most})`

/** Purges the oldest events in sequence order. Only a database function can delete them. */
export const pruneRecord: Prune = {
  kept: {
    class: 'audit',
    isByMonths: false,
    over: (tenant, before, most) =>
      sql<number>`(select count(*) from ${first(tenant, most)} as oldest where sequenced_at < ${before})`,
  },
  // A sequencing time in the future comes from a wrong clock. It is skipped, and the next event decides.
  isDue: (tenant) =>
    sql<boolean>`coalesce((select sequenced_at < ${overBefore('audit')} from audit_log
      where tenant_id = ${tenant} and seq > (select audit_begins_after(${tenant})) and sequenced_at <= now()
      order by seq limit 1), false)`,
  take: async (tx, _, limit) => {
    const { rows } = await sql<{ gone: number }>`select purge_audit(${limit}) as gone`.execute(tx)
    return rows[0]?.gone ?? 0
  },
}

/** Last purged sequence number, if events have been purged. */
export const findBeginning = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('audit_beginnings').select(['seq', 'hash']).where('tenant_id', '=', tenant).executeTakeFirst()
