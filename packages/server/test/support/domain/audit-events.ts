import type { AuditFields, AuditKind } from '@holdfast/contract/vocabulary'
import type { Client } from '@holdfast/sdk'

/** SQL: all events, with or without sequence numbers. */
export const everyEvent = `(select kind, outcome, target_id, request_id, record from audit_log
  union all select kind, outcome, target_id, request_id, record from audit_arrivals)`

type Event = Awaited<ReturnType<Client['listAuditEvents']>>['items'][number]

/** The newest 200 events of a kind, with the fields that the kind declares. */
export const eventsOf = async <K extends AuditKind>({ admin }: { admin: Client }, kind: K) =>
  (await admin.listAuditEvents({ query: { kind, limit: 200 } })).items as (Event & AuditFields[K])[]
