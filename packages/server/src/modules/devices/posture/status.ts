import type { CheckResult, PostureResult } from '@holdfast/policy'
import { hour } from '../../../kernel/time.ts'
import type { DeviceReport } from './appraisal.ts'
import type { Reported } from './posture.queries.ts'

/** Trustworthiness tiers (draft-ietf-rats-ar4si §3.2). */
type AttestationStatus = 'none' | 'affirming' | 'warning' | 'contraindicated'

type Reason = {
  code:
    | 'device_pending'
    | 'device_suspended'
    | 'device_revoked'
    | 'user_suspended'
    | 'no_report'
    | 'stale_report'
    | 'nothing_checked'
    | 'check_failed'
    | 'check_unknown'
  check_id: string | null
}
/** Asserted status, and the time at which it changes by itself (ms; Infinity: never). */
export type AttestationState = { status: AttestationStatus; reasons: Reason[]; until: number }

/** Maximum age of a report for `affirming`, in ms, regardless of the checks. */
const affirmedForMs = hour
const forGood = Number.POSITIVE_INFINITY

/** Checks whose outcome is shown to others than administrators: those that apply and are not only audited. */
export const lastReportOf = ({ checks }: PostureResult): CheckResult[] =>
  checks.filter((check) => check.applies && check.enforcement !== 'audit')

/** A device that may not use the network is always contraindicated, regardless of its report. */
export function shutOut({ status, user_suspended }: Reported): AttestationState | undefined {
  const reasons: Reason[] = []
  if (status !== 'active') reasons.push(because(`device_${status}`))
  if (user_suspended) reasons.push(because('user_suspended'))
  return reasons.length > 0 ? { status: 'contraindicated', reasons, until: forGood } : undefined
}

/**
 * The worst applicable status. Contraindicated: an enforced check failed. None: there is no report. Warning: the report
 * is too old, a check is unknown, or a check that only warns failed. Checks that are only audited do not count. None
 * again: no other check applies.
 */
export function attestationStateOf(
  report: DeviceReport | null,
  result: PostureResult,
  nowMs: number,
): AttestationState {
  const lastReport = lastReportOf(result)
  const staleAt = report ? report.reported_at + affirmedForMs : forGood
  const ends = [staleAt, ...lastReport.map((check) => check.valid_until ?? forGood)].filter((end) => end > nowMs)
  const until = Math.min(...ends, forGood)

  const reasons: Reason[] = lastReport.flatMap(({ id, outcome }) =>
    outcome === 'passed' ? [] : [because(outcome === 'failed' ? 'check_failed' : 'check_unknown', id)],
  )
  const contradicts = lastReport.some(({ outcome, enforcement }) => outcome === 'failed' && enforcement === 'enforce')
  if (contradicts) return { status: 'contraindicated', reasons, until }
  if (!report) return { status: 'none', reasons: [because('no_report')], until }
  const isStale = nowMs >= staleAt || lastReport.some((check) => check.reason_code === 'stale_report')
  if (isStale) return { status: 'warning', reasons: [because('stale_report'), ...reasons], until }
  if (reasons.length > 0) return { status: 'warning', reasons, until }
  if (lastReport.length === 0) return { status: 'none', reasons: [because('nothing_checked')], until }
  return { status: 'affirming', reasons, until }
}

const because = (code: Reason['code'], check_id: string | null = null): Reason => ({ code, check_id })
