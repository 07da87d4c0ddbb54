import type { SiemConnectorKind, SiemFormat } from '@holdfast/contract/vocabulary'
import type { Destination } from '../../../db/tables/siem.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import type { SyslogOrigin } from '../../audit/index.ts'

/** Destination with the opened credential. */
export type SinkTarget = {
  kind: SiemConnectorKind
  format: SiemFormat
  destination: Destination
  credential: string | undefined
  /** The previous secret of a webhook, which signs in addition to the new one for a while. */
  previous?: string | undefined
}
/** An event in the form that is sent: `text` is one line in the format of the connector; over HTTP it is JSON. */
export type Encoded = { seq: number; eventId: string; kind: string; at: Date; text: string }
/** `id` is the same if the same texts are sent again. No other batch has it. */
export type EventBatch = { id: string; events: readonly Encoded[] }

/**
 * Outcome of a batch.
 * `taken`: accepted, except the events in `refused`, by index in the batch.
 * `refused`: refused as a whole, so that any event may be the cause.
 * `later`: nothing is wrong with the events.
 * `parked`: a person has to fix the cause.
 * The sentences are for administrators. They contain no secret, and of the receiver's answer only the part meant to be
 * shown.
 */
export type Sent =
  | { outcome: 'taken'; answer: string; refused?: ReadonlyMap<number, string> }
  | { outcome: 'refused'; answer: string }
  | { outcome: 'later'; answer: string; waitMs?: number }
  | { outcome: 'parked'; answer: string }

export type SinkDeps = {
  outbound: Pick<Outbound, 'request' | 'connect'>
  now: () => Date
  syslogOrigin: SyslogOrigin
}
/** Sends in order. May throw OutboundError if there is no answer. */
export type Send = (deps: SinkDeps, target: SinkTarget, batch: EventBatch, signal: AbortSignal) => Promise<Sent>
