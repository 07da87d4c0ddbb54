import type { DeadLetterRow } from '../dead-letters.queries.ts'
import { uuidOf } from '../sinks/encode.ts'
import type { Refused } from './results.ts'
import type { StreamRow } from './streams.queries.ts'

/** Returns the dead letters of refused events: their sequence numbers, and the reasons. */
export const deadLettersOf = (
  { tenant_id, connector_id, from_at }: Pick<StreamRow, 'tenant_id' | 'connector_id' | 'from_at'>,
  refused: Refused,
  failed_at: Date,
): Omit<DeadLetterRow, 'replaying'>[] =>
  refused.map(([event, reason]) => ({
    tenant_id,
    connector_id,
    seq: event.seq,
    event_id: uuidOf(event),
    kind: event.kind,
    reason,
    failed_at,
    of_export: from_at !== null,
  }))
