import { ingestion } from '@holdfast/contract/limits'
import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { purgeTime } from '../../../db/kept.ts'
import { lines } from '../../../db/lines.ts'
import { deleting, type Prune } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type Report = { tenantId: TenantId; gatewayId: string; at: Date }

/**
 * Stores the event IDs (printable ASCII) that a gateway reports. They count once the transaction commits. Returns the
 * IDs that were already known.
 */
export async function noteReported(tx: Tx, { tenantId, gatewayId, at }: Report, ids: Iterable<string>) {
  const { rows } = await sql<{ known: string[] }>`
    select note_reported(${tenantId}, ${gatewayId}, ${at}, ${lines([...ids])}) as known`.execute(tx)
  return rows[0]?.known ?? []
}

const old = deleting(
  'audit_ingested',
  sql`received_at < ${purgeTime} - interval '${sql.raw(`${ingestion.rememberedDays}`)} days'`,
)
/**
 * Purges the IDs under which gateways have reported; the events stay. An hour brings many of these small rows, hence
 * the higher limit.
 */
export const pruneReported: Prune = { ...old, take: (tx, tenant, limit) => old.take(tx, tenant, 20 * limit) }
