import type { SiemConnectorKind, SiemFormat } from '@holdfast/contract/vocabulary'
import type { Destination } from '../../../db/tables/siem.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import type { SyslogOrigin } from '../../audit/index.ts'

/** Where events go, with what opens it. */
export type Target = {
  kind: SiemConnectorKind
  format: SiemFormat
  destination: Destination
  credential: string | undefined
  /** The secret of a webhook that was replaced lately, and signs beside the new one. */
  previous?: string | undefined
}
/** An event, as it is sent: `text` is one line in the format of the connector, over HTTP as JSON. */
export type Encoded = { seq: number; eventId: string; kind: string; at: Date; text: string }
/** `id` is the same whenever the same events are sent again as the same texts, and no other batch has it. */
export type Batch = { id: string; events: readonly Encoded[] }

/**
 * What became of a batch. `taken`: all of it but `refused`, by its place in the batch. `refused`: as a whole, so that
 * some event of it may be why. `later`: nothing is wrong with the events. `parked`: only a person can mend it. The
 * sentences are for administrators; they hold no secret, and of what a receiver said only what is meant to be shown.
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
/** Sends in order. May throw OutboundError where there is no answer. */
export type Send = (deps: SinkDeps, target: Target, batch: Batch, signal: AbortSignal) => Promise<Sent>
