import type { AuditFields, AuditKind } from '@holdfast/contract/vocabulary'
import { settle } from '../../db/claims.ts'
import type { Database, Tx } from '../../db/database.ts'
import type { Source } from '../../kernel/actor.ts'
import { createGroupCommit } from '../../kernel/group-commit.ts'
import { newUuid } from '../../kernel/ids.ts'
import { storable } from '../../kernel/text.ts'
import { type EventRow, insert } from './audit.queries.ts'

export type Target = { type: string; id: string | null; name: string | null }
export type Changed = Record<string, readonly [before: unknown, after: unknown]>
type More = { target?: Target; changes?: Changed; details?: Record<string, unknown>; outcome?: EventRow['outcome'] }

type NewEvent = {
  [K in AuditKind]: { source: Source; kind: K; fields: AuditFields[K]; more?: More }
}[AuditKind]

/** How much of a text that a caller chose is put on record. */
const longest = 512
const kept = (text: string | null | undefined) => (text === null || text === undefined ? null : storable(text, longest))

export function createRecorder({ db, now }: { db: Database; now: () => Date }) {
  const row = (source: Source, kind: AuditKind, fields: object, more: More): EventRow => ({
    tenant_id: source.tenantId,
    event_id: newUuid(),
    at: now(),
    kind,
    outcome: more.outcome ?? 'success',
    actor_type: source.type,
    actor_id: kept(source.id),
    actor_name: kept(source.name),
    target_type: more.target?.type ?? null,
    target_id: kept(more.target?.id),
    target_name: kept(more.target?.name),
    source_ip: kept(source.sourceIp),
    user_agent: kept(source.userAgent),
    request_id: kept(source.requestId),
    origin: source.origin,
    fields,
    changes: more.changes && Object.keys(more.changes).length > 0 ? more.changes : null,
    details: more.details ?? null,
  })

  const join = createGroupCommit<EventRow>((rows) => db.acrossTenants((tx) => insert(tx, rows).then(() => [])), {
    tenantOf: (event) => event.tenant_id,
    maxBatch: 500,
    maxQueue: 20_000,
    maxPerTenant: 5000,
  })

  return {
    /**
     * In the transaction of the change it describes: neither exists without the other. With it the claim of the request
     * is settled, so that a change is made once.
     */
    record: async <K extends AuditKind>(tx: Tx, source: Source, kind: K, fields: AuditFields[K], more: More = {}) => {
      if (source.claim) await settle(tx, source.claim)
      await insert(tx, [row(source, kind, fields, more)])
    },
    /** Several events, each with its own source, in one statement. */
    recordAll: async (tx: Tx, events: readonly NewEvent[]) => {
      for (const claim of new Set(events.map((e) => e.source.claim))) if (claim) await settle(tx, claim)
      if (events.length > 0)
        await insert(
          tx,
          events.map((e) => row(e.source, e.kind, e.fields, e.more ?? {})),
        )
    },
    /** What changes nothing but must be on record: settles once it is durable, together with others. */
    note: <K extends AuditKind>(source: Source, kind: K, fields: AuditFields[K], more: More = {}) =>
      join(row(source, kind, fields, more)),
    /** For the pipe: a write that was refused. */
    refused: (source: Source, operation: string, code: string, detail: string) =>
      join(
        row(
          source,
          'request.refused',
          { operation },
          {
            outcome: code === 'internal_error' ? 'failed' : 'refused',
            details: { error: code, detail: storable(detail, longest) },
          },
        ),
      ),
  }
}
