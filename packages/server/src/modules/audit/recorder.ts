import type { AuditFields, AuditKind } from '@holdfast/contract/vocabulary'
import { settleClaim } from '../../db/claims.ts'
import type { Database, Tx } from '../../db/database.ts'
import type { Source, TenantId } from '../../kernel/actor.ts'
import { createGroupCommit } from '../../kernel/group-commit.ts'
import { storable } from '../../kernel/text.ts'
import { type Arrival, insertArrivals } from './audit.queries.ts'
import { arrivalOf, longest, type More } from './record.ts'

type NewEvent = {
  [K in AuditKind]: { source: Source; kind: K; fields: AuditFields[K]; more?: More }
}[AuditKind]

export function createRecorder({ db, now, wake }: { db: Database; now: () => Date; wake: (tenant: TenantId) => void }) {
  const row = (source: Source, kind: AuditKind, fields: object, more: More) =>
    arrivalOf(source, kind, fields, more, now())
  async function write(tx: Tx, rows: Arrival[]): Promise<void> {
    await insertArrivals(tx, rows)
    db.afterCommit(tx, () => {
      for (const tenant of new Set(rows.map((r) => r.tenant_id))) wake(tenant)
    })
  }

  const join = createGroupCommit<Arrival>((rows) => db.acrossTenants((tx) => write(tx, rows).then(() => [])), {
    tenantOf: (event) => event.tenant_id,
    maxBatch: 500,
    maxQueue: 20_000,
    maxPerTenant: 5000,
  })

  return {
    /**
     * Records an event in the transaction of the change that it describes, so that neither exists without the other.
     * The same transaction settles the request's Idempotency-Key, so that a change is made once.
     */
    record: async <K extends AuditKind>(tx: Tx, source: Source, kind: K, fields: AuditFields[K], more: More = {}) => {
      if (source.claim) await settleClaim(tx, source.claim)
      await write(tx, [row(source, kind, fields, more)])
    },
    /** Records several events, each with its own source, in one statement. */
    recordAll: async (tx: Tx, events: readonly NewEvent[]) => {
      for (const claim of new Set(events.map((e) => e.source.claim))) if (claim) await settleClaim(tx, claim)
      if (events.length > 0)
        await write(
          tx,
          events.map((e) => row(e.source, e.kind, e.fields, e.more ?? {})),
        )
    },
    /** Records an event without a change. Resolves once it is durable. Concurrent events share a commit. */
    note: <K extends AuditKind>(source: Source, kind: K, fields: AuditFields[K], more: More = {}) =>
      join(row(source, kind, fields, more)),
    /** Records a refused write. For the request pipeline. */
    refused: (source: Source, fields: AuditFields['request.refused'], code: string, detail: string) =>
      join(
        row(source, 'request.refused', fields, {
          outcome: code === 'internal_error' ? 'failed' : 'refused',
          details: { error: code, detail: storable(detail, longest) },
        }),
      ),
  }
}
