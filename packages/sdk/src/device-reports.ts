import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import { bodyOf, type Send } from './send.ts'

export type TelemetryEvent = Input<Contract['telemetry']>['body']['events'][number]
type Seen = Omit<TelemetryEvent, 'event_id' | 'at'> & { at?: string }

/** What a device says of itself and of its connections, and what is vouched for of it. */
export const createDeviceReports = ({ call, now }: { call: Send; now: () => Date }) => ({
  reportPosture: async (facts: Input<Contract['reportPosture']>['body']['facts']) =>
    bodyOf(await call('reportPosture', { body: { facts } })),
  /**
   * What the device shows to whoever relies on its posture, who verifies it by `verifyPostureAssertion`. `nonce`: 8 to
   * 64 bytes of theirs, base64url.
   */
  postureAssertion: async ({ nonce }: { nonce?: string } = {}): Promise<Output<Contract['postureAssertion']>> =>
    bodyOf(await call('postureAssertion', { query: nonce === undefined ? {} : { nonce } })),
  /** What was seen, now unless it says when, under an id of its own. */
  observed: (seen: Seen): TelemetryEvent => ({ event_id: randomUUID(), at: now().toISOString(), ...seen }),
  /** An event counts once, so what was not answered is sent again as it is; 1,000 at most. */
  reportTelemetry: async (events: readonly TelemetryEvent[]): Promise<Output<Contract['telemetry']>> =>
    bodyOf(await call('telemetry', { body: { events: [...events] } })),
})
