import type { AuditKind } from '@holdfast/contract/vocabulary'
import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export async function headOf(tx: Tx, tenant: TenantId): Promise<number> {
  const row = await tx.selectFrom('audit_heads').select('seq').where('tenant_id', '=', tenant).executeTakeFirst()
  return row?.seq ?? 0
}

export type Since = {
  head: number
  /** In the order of their sequence numbers. */
  events: readonly { kind: AuditKind; record: string }[]
  /** There are more than were read: of these kinds. */
  more: readonly AuditKind[]
}

/** The events of these kinds behind a sequence number, at most so many; of more than that only their kinds. */
export async function eventsSince(
  tx: Tx,
  tenant: TenantId,
  after: number,
  kinds: readonly AuditKind[],
  most: number,
): Promise<Since> {
  const head = await headOf(tx, tenant)
  const from = (first: number) =>
    tx
      .selectFrom('audit_log')
      .where('tenant_id', '=', tenant)
      .where('seq', '>', first)
      .where('seq', '<=', head)
      .where(sql<boolean>`kind = any(${[...kinds]}::text[])`)
  if (head <= after) return { head, events: [], more: [] }
  const rows = await from(after).select(['seq', 'kind', 'record']).orderBy('seq').limit(most).execute()
  const events = rows.map(({ kind, record }) => ({ kind: kind as AuditKind, record }))
  const last = rows.at(-1)
  if (rows.length < most || !last) return { head, events, more: [] }
  const more = await from(last.seq).select('kind').distinct().execute()
  return { head, events, more: more.map((r) => r.kind as AuditKind) }
}
