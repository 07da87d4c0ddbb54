import type { AuditKind } from '@holdfast/contract/vocabulary'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { eventsSince, headOf } from './since.queries.ts'

type Since = {
  head: number
  /** In the order of their sequence numbers. */
  events: readonly { kind: AuditKind; record: string }[]
  /** There are more than were read: of these kinds. */
  more: readonly AuditKind[]
}

export const createSince = ({ db }: { db: Database }) => ({
  /** Where the audit log of the tenant ends. */
  headOf: (tenant: TenantId): Promise<number> => db.inTenant(tenant, (tx) => headOf(tx, tenant)),
  /** The events of these kinds behind a sequence number, at most so many; of more than that only their kinds. */
  since: async (tenant: TenantId, after: number, kinds: readonly AuditKind[], most: number): Promise<Since> => {
    const { head, events, more } = await db.inTenant(tenant, (tx) => eventsSince(tx, tenant, after, kinds, most))
    return {
      head,
      events: events.map(({ kind, record }) => ({ kind: kind as AuditKind, record })),
      more: more.map((kind) => kind as AuditKind),
    }
  },
})
