import type { PolicyPostureCheck } from '@holdfast/contract/policy-document'
import { evaluateExpression, factOf, type Truth } from './evaluate.ts'
import { type Expression, factsIn, parseExpression } from './expression.ts'
import type { DeviceFacts } from './facts.ts'

type Enforcement = 'audit' | 'warn' | 'enforce'

export type CompiledCheck = {
  readonly id: string
  readonly platforms: ReadonlySet<string> | null
  readonly expression: Expression
  readonly text: string
  readonly facts: readonly string[]
  readonly freshnessMs: number
  readonly severity: 'low' | 'medium' | 'high' | 'critical'
  readonly enforcement: Enforcement
  readonly remediation: string
}

export const compileCheck = (id: string, check: PolicyPostureCheck): CompiledCheck => {
  const expression = parseExpression(check.expression)
  return {
    id,
    platforms: check.platforms ? new Set<string>(check.platforms) : null,
    expression,
    text: check.expression,
    facts: factsIn(expression),
    freshnessMs: (check.freshness_seconds ?? 3_600) * 1_000,
    severity: check.severity ?? 'medium',
    enforcement: check.enforcement ?? 'enforce',
    remediation: check.remediation ?? '',
  }
}

type ReasonCode = 'passed' | 'not_applicable' | 'failed' | 'no_report' | 'stale_report' | 'fact_missing'

/** `until`: when the outcome may change without a new report. Infinity: never. */
export type CheckOutcome = { readonly value: Truth; readonly reason: ReasonCode; readonly until: number }

const never = Number.POSITIVE_INFINITY
const notApplicable: CheckOutcome = { value: true, reason: 'not_applicable', until: never }
const noReport: CheckOutcome = { value: null, reason: 'no_report', until: never }
const staleReport: CheckOutcome = { value: null, reason: 'stale_report', until: never }

/**
 * Evaluates one check on the last report. Without a report, with one that is too old, or with a missing fact the
 * outcome is unknown (null), which does not pass.
 */
export function evaluateCheck(check: CompiledCheck, facts: DeviceFacts, nowMs: number): CheckOutcome {
  if (check.platforms && !check.platforms.has(facts.platform)) return notApplicable
  if (!facts.posture) return noReport
  const staleAt = facts.posture.reported_at + check.freshnessMs
  if (nowMs >= staleAt) return staleReport
  const { value, until } = evaluateExpression(check.expression, facts.posture.facts, nowMs)
  const reason = value === null ? 'fact_missing' : value ? 'passed' : 'failed'
  return { value, reason, until: Math.min(until, staleAt) }
}

export type CheckResult = {
  id: string
  /** Outcome of the check; only `passed` passes. */
  outcome: 'passed' | 'failed' | 'unknown'
  passed: boolean
  reason_code: ReasonCode
  /**
   * Reported values of the facts that the check reads (null: not reported), and the required expression. For
   * administrators only.
   */
  actual: Record<string, unknown>
  expected: string
  severity: CompiledCheck['severity']
  enforcement: Enforcement
  remediation: string
  applies: boolean
  platforms: readonly string[] | null
  freshness_seconds: number
  /** Time at which the outcome may change without a new report (ms); null: never. */
  valid_until: number | null
}

export type PostureVerdict = 'compliant' | 'non_compliant' | 'unknown'

export type PostureResult = { checks: CheckResult[]; verdict: PostureVerdict; valid_until: number | null }

/**
 * Evaluates every check of a policy. The verdict depends on the enforced checks that apply: a failed one makes the
 * device non-compliant, otherwise an unknown one makes it unknown. A device that never reported is unknown. So is a
 * device to which only audited checks apply, or none; an assertion about it says `none`.
 */
export function evaluateChecks(
  compiled: { readonly checks: readonly CompiledCheck[] },
  facts: DeviceFacts,
  nowMs: number,
): PostureResult {
  const outcomes = compiled.checks.map((check) => ({ check, outcome: evaluateCheck(check, facts, nowMs) }))
  const enforced = outcomes.filter(({ check }) => check.enforcement === 'enforce').map(({ outcome }) => outcome.value)
  const until = Math.min(...outcomes.map(({ outcome }) => outcome.until))
  const checks = outcomes.map(({ check, outcome }) => resultOf(check, outcome, facts))
  const isChecked = checks.some((check) => check.applies && check.enforcement !== 'audit')
  return {
    checks,
    verdict: verdictOf(enforced, facts.posture !== null && isChecked),
    valid_until: endOf(until),
  }
}

/**
 * Verdict of `evaluateChecks` alone, and the time at which it may change without a new report (ms; Infinity: never).
 * For walks through a fleet.
 */
export function evaluateVerdict(
  compiled: { readonly checks: readonly CompiledCheck[] },
  facts: DeviceFacts,
  nowMs: number,
): { verdict: PostureVerdict; until: number } {
  const enforced: Truth[] = []
  let isChecked = false
  let until = never
  for (const check of compiled.checks) {
    isChecked ||= check.enforcement !== 'audit' && (check.platforms?.has(facts.platform) ?? true)
    if (check.enforcement !== 'enforce') continue
    const outcome = evaluateCheck(check, facts, nowMs)
    enforced.push(outcome.value)
    until = Math.min(until, outcome.until)
  }
  return { verdict: verdictOf(enforced, facts.posture !== null && isChecked), until }
}

const endOf = (until: number): number | null => (Number.isFinite(until) ? until : null)

function verdictOf(enforced: readonly Truth[], isKnown: boolean): PostureVerdict {
  if (enforced.includes(false)) return 'non_compliant'
  return isKnown && !enforced.includes(null) ? 'compliant' : 'unknown'
}

function resultOf(check: CompiledCheck, outcome: CheckOutcome, { posture }: DeviceFacts): CheckResult {
  const reported = posture?.facts ?? {}
  return {
    id: check.id,
    outcome: outcome.value === null ? 'unknown' : outcome.value ? 'passed' : 'failed',
    passed: outcome.value === true,
    reason_code: outcome.reason,
    actual: Object.fromEntries(check.facts.map((name) => [name, factOf(reported, name) ?? null])),
    expected: check.text,
    severity: check.severity,
    enforcement: check.enforcement,
    remediation: check.remediation,
    applies: outcome.reason !== 'not_applicable',
    platforms: check.platforms && [...check.platforms],
    freshness_seconds: check.freshnessMs / 1_000,
    valid_until: endOf(outcome.until),
  }
}
