import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import { bodyOf, type Send } from '../send.ts'

export type TelemetryEvent = Input<Contract['telemetry']>['body']['events'][number]
type Seen = Omit<TelemetryEvent, 'event_id' | 'at'> & { at?: string }

/** Reports of a device about itself and its connections, and its posture assertion. */
export const createDeviceReports = ({ call, now }: { call: Send; now: () => Date }) => ({
  reportPosture: async (facts: Input<Contract['reportPosture']>['body']['facts']) =>
    bodyOf(await call('reportPosture', { body: { facts } })),
  /**
   * Gets an assertion for a relying party, which verifies it by `verifyPostureAssertion`. `nonce`: 8 to 64 bytes of the
   * relying party, base64url.
   */
  postureAssertion: async ({ nonce }: { nonce?: string } = {}): Promise<Output<Contract['postureAssertion']>> =>
    bodyOf(await call('postureAssertion', { query: nonce === undefined ? {} : { nonce } })),
  /** Creates an event with a new id, at the present time by default. */
  observed: (seen: Seen): TelemetryEvent => ({ event_id: randomUUID(), at: now().toISOString(), ...seen }),
  /** Sends at most 1,000 events. An event counts once, so a report without a response is repeated unchanged. */
  reportTelemetry: async (events: readonly TelemetryEvent[]): Promise<Output<Contract['telemetry']>> =>
    bodyOf(await call('telemetry', { body: { events: [...events] } })),
})
