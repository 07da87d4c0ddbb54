import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { purgeTime } from '../../../db/kept.ts'
import { lines } from '../../../db/lines.ts'
import { deleting, type Prune } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type Report = { tenantId: TenantId; gatewayId: string; at: Date }

/**
 * Notes under which ids, of printable ASCII, a gateway reports, for good with the transaction; answers those that were
 * known.
 */
export async function noteReported(tx: Tx, { tenantId, gatewayId, at }: Report, ids: Iterable<string>) {
  const { rows } = await sql<{ known: string[] }>`
    select note_reported(${tenantId}, ${gatewayId}, ${at}, ${lines([...ids])}) as known`.execute(tx)
  return rows[0]?.known ?? []
}

const old = deleting('audit_ingested', sql`received_at < ${purgeTime} - interval '30 days'`)
/** The ids under which gateways have reported; the events stay. Many come in an hour, and a row is small. */
export const pruneReported: Prune = { ...old, take: (tx, tenant, limit) => old.take(tx, tenant, 20 * limit) }
