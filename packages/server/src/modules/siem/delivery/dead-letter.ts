import type { DeadLetterRow } from '../dead-letters.queries.ts'
import { uuidOfEvent } from '../sinks/encode.ts'
import type { RefusedEvents } from './results.ts'
import type { StreamRow } from './streams.queries.ts'

/** Returns the dead letters of refused events: their sequence numbers, and the reasons. */
export const deadLettersOf = (
  { tenant_id, connector_id, from_at }: Pick<StreamRow, 'tenant_id' | 'connector_id' | 'from_at'>,
  refused: RefusedEvents,
  failed_at: Date,
): Omit<DeadLetterRow, 'replaying'>[] =>
  refused.map(([event, reason]) => ({
    tenant_id,
    connector_id,
    seq: event.seq,
    event_id: uuidOfEvent(event),
    kind: event.kind,
    reason,
    failed_at,
    of_export: from_at !== null,
  }))
