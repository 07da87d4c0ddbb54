import type { AuditKind } from '@holdfast/contract/vocabulary'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { eventsSince, headSeqOf } from './events.queries.ts'

type Since = {
  head: number
  /** Ordered by sequence number. */
  events: readonly { kind: AuditKind; record: string }[]
  /** Kinds of the events beyond those that were read. */
  more: readonly AuditKind[]
}

export const createSince = ({ db }: { db: Database }) => ({
  /** Sequence number of the last event of the tenant's audit log. */
  headOf: (tenant: TenantId): Promise<number> => db.inTenant(tenant, (tx) => headSeqOf(tx, tenant)),
  /** Events of these kinds after a sequence number, at most `most`. Of further events only the kinds. */
  since: async (tenant: TenantId, after: number, kinds: readonly AuditKind[], most: number): Promise<Since> => {
    const { head, events, more } = await db.inTenant(tenant, (tx) => eventsSince(tx, tenant, after, kinds, most))
    return {
      head,
      events: events.map(({ kind, record }) => ({ kind: kind as AuditKind, record })),
      more: more.map((kind) => kind as AuditKind),
    }
  },
})
