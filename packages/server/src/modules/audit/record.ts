import type { AuditKind } from '@holdfast/contract/vocabulary'
import { canonicalJson } from '@holdfast/crypto'
import type { Source } from '../../kernel/actor.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { storable, storableJson } from '../../kernel/text.ts'
import type { Arrival } from './audit.queries.ts'

export type Target = { type: string; id: string | null; name: string | null }
export type Changed = Record<string, readonly [before: unknown, after: unknown]>
export type More = {
  target?: Target
  changes?: Changed
  details?: Record<string, unknown>
  outcome?: Arrival['outcome']
}

/** How much of a text that a caller chose is put on record. */
export const longest = 512
export const kept = (text: string | null | undefined) =>
  text === null || text === undefined ? null : storable(text, longest)

/** An event as it is written: what is asked for by it stands beside the record, which says everything. */
export function arrivalOf(source: Source, kind: AuditKind, fields: object, more: More, at: Date): Arrival {
  const event_id = newUuid()
  const outcome = more.outcome ?? 'success'
  const actor = { type: source.type, id: kept(source.id), name: kept(source.name) }
  const target = more.target ? { type: more.target.type, id: kept(more.target.id), name: kept(more.target.name) } : null
  const source_ip = kept(source.sourceIp)
  const request_id = kept(source.requestId)
  const record = recordOf({
    ...fields,
    event_id: encodeId('audit_event', event_id),
    tenant_id: encodeId('tenant', source.tenantId),
    kind,
    timestamp: at.toISOString(),
    outcome,
    actor,
    target,
    source_ip,
    user_agent: kept(source.userAgent),
    request_id,
    origin: source.origin,
    ...(more.changes && Object.keys(more.changes).length > 0 && { changes: more.changes }),
    ...(more.details && { details: more.details }),
  })
  return {
    tenant_id: source.tenantId,
    event_id,
    at,
    kind,
    outcome,
    actor_id: actor.id,
    actor_name: actor.name,
    target_id: target?.id ?? null,
    target_name: target?.name ?? null,
    source_ip,
    request_id,
    record,
  }
}

/** What may stand in JSON and not in jsonb is replaced first, so that every reader finds the same. */
const recordOf = (event: object): string => canonicalJson(JSON.parse(storableJson(event)))
