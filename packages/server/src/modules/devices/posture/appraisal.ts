import type { PostureResult } from '@holdfast/policy'
import type { TenantId } from '../../../kernel/actor.ts'
import type { FleetDevice } from '../fleet-device.ts'
import type { Reported } from './posture.queries.ts'

/** Facts reported by a device, and the time of the report (ms). */
export type DeviceReport = { readonly facts: Readonly<Record<string, unknown>>; readonly reported_at: number }

/** Last report in a device's row; null if it has never reported. */
export const reportOf = ({ facts, reported_at }: Pick<Reported, 'facts' | 'reported_at'>): DeviceReport | null =>
  facts && reported_at && { facts, reported_at: reported_at.getTime() }

/**
 * Outcomes of the checks for a report, in a fixed order. `until`: earliest time at which they may change without a new
 * report (ms; Infinity).
 */
export type Outcomes = { readonly text: string; readonly until: number }

/** Evaluates reports of one device by the policy that was in force when the appraiser was requested. */
export type Appraiser = {
  /** Newest version of the tenant, even if the device is under another one. */
  readonly newest: number
  /** Channel and version that apply to the device. */
  readonly channel: 'canary' | 'stable'
  readonly version: number
  /** Digest of the device's policy at a time (ms). */
  digestAt: (nowMs: number) => string
  appraise: (report: DeviceReport | null, nowMs: number) => PostureResult
  /** Outcomes of the checks of all policies in force: a device may move to another one without a new report. */
  outcomes: (report: DeviceReport, nowMs: number) => Outcomes
}
/** Provided by the policy module. */
export type Appraise = (tenant: TenantId, device: FleetDevice) => Promise<Appraiser>
