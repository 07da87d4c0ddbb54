import type { AuditKind } from '@holdfast/contract/vocabulary'
import { canonicalJson, isInOrder } from '@holdfast/crypto'
import type { Source } from '../../kernel/actor.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { replaced, storable, storableJson } from '../../kernel/text.ts'
import type { Arrival } from './audit.queries.ts'

export type AuditTarget = { type: string; id: string | null; name: string | null }
export type FieldChanges = Record<string, readonly [before: unknown, after: unknown]>
export type More = {
  target?: AuditTarget
  changes?: FieldChanges
  details?: Record<string, unknown>
  outcome?: Arrival['outcome']
}

/** Maximum recorded length of a text that a caller chose, in UTF-16 units. */
export const longest = 512
export const kept = (text: string | null | undefined) =>
  text === null || text === undefined ? null : storable(text, longest)

/** An event as a row: the search columns, and the record with all fields. */
export const arrivalOf = (source: Source, kind: AuditKind, fields: object, more: More, at: Date): Arrival =>
  arrivalsOf(source, at)(kind, fields, more)

/** The events of one source at one time. */
export function arrivalsOf(source: Source, at: Date) {
  const actor = { id: kept(source.id), name: kept(source.name), type: source.type }
  const source_ip = kept(source.sourceIp)
  const request_id = kept(source.requestId)
  const common = {
    actor,
    origin: source.origin,
    request_id,
    source_ip,
    tenant_id: encodeId('tenant', source.tenantId),
    timestamp: at.toISOString(),
    user_agent: kept(source.userAgent),
  }
  return (kind: AuditKind, fields: object, { target: about, changes, details, outcome = 'success' }: More): Arrival => {
    const event_id = newUuid()
    const target = about ? { id: kept(about.id), name: kept(about.name), type: about.type } : null
    const record = recordOf({
      ...fields,
      ...common,
      event_id: encodeId('audit_event', event_id),
      kind,
      outcome,
      target,
      ...(changes && Object.keys(changes).length > 0 && { changes }),
      ...(details && { details }),
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
}

/** Sorts the members by name. The sorted names are kept, since consecutive events often have the same ones. */
function inOrder(event: Readonly<Record<string, unknown>>): object {
  const names = Object.keys(event)
  if (names.length !== last.names.length || !names.every((name, i) => name === last.names[i]))
    last = { names, sorted: names.toSorted() }
  const members: Record<string, unknown> = {}
  for (const name of last.sorted) members[name] = event[name]
  return members
}
let last: Record<'names' | 'sorted', readonly string[]> = { names: [], sorted: [] }

/** First replaces characters that JSON allows and jsonb does not, so that every reader gets the same text. */
function recordOf(event: Readonly<Record<string, unknown>>): string {
  const members = inOrder(event)
  const text = storableJson(members)
  // A member name with a replaced character may sort differently.
  return isInOrder(members) && !text.includes(replaced) ? text : canonicalJson(JSON.parse(text))
}
