import type { Contract, Output } from '@holdfast/contract'

/** An event with its sequence number. `record` is the hashed text: the event without `seq` and `hash`. */
export type StoredEvent = { seq: number; hash: string; record: string }
export type AuditEvent = Output<Contract['listAuditEvents']>['items'][number]

export const readEvent = ({ seq, hash, record }: StoredEvent): AuditEvent => ({
  ...(JSON.parse(record) as Omit<AuditEvent, 'seq' | 'hash'>),
  seq,
  hash,
})

/** The name, or else the ID, or else the type. */
export const actorNameOf = (who: AuditEvent['actor']): string => who.name ?? who.id ?? who.type

const common = new Set(
  'event_id seq hash tenant_id kind timestamp outcome actor target source_ip user_agent request_id origin changes details'.split(
    ' ',
  ),
)
/** The fields declared by the kind. */
export const ownFields = (event: AuditEvent): Record<string, unknown> =>
  Object.fromEntries(Object.entries(event).filter(([name]) => !common.has(name)))
