import type { PostureResult } from '@holdfast/policy'
import type { TenantId } from '../../../kernel/actor.ts'
import type { FleetDevice } from '../fleet-device.ts'
import type { Reported } from './posture.queries.ts'

/** What a device said of itself, and when (ms). */
export type Report = { readonly facts: Readonly<Record<string, unknown>>; readonly reported_at: number }

/** The last report of a device's row; null: it never reported. */
export const reportOf = ({ facts, reported_at }: Pick<Reported, 'facts' | 'reported_at'>): Report | null =>
  facts && reported_at && { facts, reported_at: reported_at.getTime() }

/** What checks make of a report, each in its place; `until`: when that may change without another (ms; Infinity). */
export type Outcomes = { readonly text: string; readonly until: number }

/** Judges reports of one device by the policy that held when this was asked for. */
export type Appraiser = {
  /** The tenant's newest version, whether the device is under it or not. */
  readonly newest: number
  /** What the device is under. */
  readonly channel: 'canary' | 'stable'
  readonly version: number
  /** The digest of what it gets at a time (ms). */
  digestAt: (nowMs: number) => string
  appraise: (report: Report | null, nowMs: number) => PostureResult
  /** Of the checks of every policy in force: a device may come under another one without a report. */
  outcomes: (report: Report, nowMs: number) => Outcomes
}
/** Given by the policy module. */
export type Appraise = (tenant: TenantId, device: FleetDevice) => Promise<Appraiser>
