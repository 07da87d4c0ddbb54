import type { Contract, Output } from '@holdfast/contract'

/** An event in its place. `record` is the text that its hash was made of: the event without `seq` and `hash`. */
export type Stored = { seq: number; hash: string; record: string }
export type Event = Output<Contract['listAuditEvents']>['items'][number]

export const readEvent = ({ seq, hash, record }: Stored): Event => ({
  ...(JSON.parse(record) as Omit<Event, 'seq' | 'hash'>),
  seq,
  hash,
})

/** Whose name is not known has an id, or at least a type. */
export const nameOf = (who: Event['actor']): string => who.name ?? who.id ?? who.type

const common = new Set(
  'event_id seq hash tenant_id kind timestamp outcome actor target source_ip user_agent request_id origin changes details'.split(
    ' ',
  ),
)
/** What its kind declares. */
export const ownFields = (event: Event): Record<string, unknown> =>
  Object.fromEntries(Object.entries(event).filter(([name]) => !common.has(name)))
