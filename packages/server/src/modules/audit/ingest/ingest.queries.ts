import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { deleting, type Prune } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type Reported = { tenantId: TenantId; gatewayId: string; eventId: string; at: Date }

/**
 * Notes what gateways report, of any tenants, in one statement; answers those that were not known. Who notes the same
 * at once waits, and then finds it known.
 */
export async function noteReported(tx: Tx, events: readonly Reported[]) {
  const column = <T>(of: (e: Reported) => T) => events.map(of)
  const { rows } = await sql<{ gateway_id: string; event_id: string }>`
    insert into audit_ingested (tenant_id, gateway_id, event_id, received_at)
    select * from unnest(${column((e) => e.tenantId)}::uuid[], ${column((e) => e.gatewayId)}::uuid[],
      ${column((e) => e.eventId)}::text[], ${column((e) => e.at)}::timestamptz[]) as e (tenant_id, gateway_id, event_id, at)
    order by e.tenant_id, e.gateway_id, e.event_id collate "C"
    on conflict do nothing returning gateway_id, event_id`.execute(tx)
  return rows
}

const old = deleting('audit_ingested', sql`received_at < now() - interval '30 days'`)
/** The ids under which gateways have reported; the events stay. Many come in an hour, and a row is small. */
export const pruneReported: Prune = { ...old, take: (tx, tenant, limit) => old.take(tx, tenant, 20 * limit) }
