import type { Contract, Output } from '@holdfast/contract'
import type { Decision, ExplainedRule, PolicyTestReport } from '@holdfast/policy'
import type { Names } from '../../db/names.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { StoredImpact } from './impact.ts'
import type { selectBundles } from './policy.queries.ts'
import type { Blocker, PolicyExplanation } from './questions.ts'

export type BundleRow = Awaited<ReturnType<ReturnType<typeof selectBundles>['execute']>>[number]
type BundleView = Output<Contract['listPolicyBundles']>['items'][number]
/** Facts that only the fleet knows, and only of a version that is current. */
export type Reach = {
  current: boolean
  variants: number
  applied: number
  pending: number
  /** Digests of the variants that some device should have. */
  digests: readonly string[]
}

/** Ids whose names `viewBundle` shows. */
export const namesInBundles = (bundles: readonly BundleRow[]) => ({
  group: bundles.flatMap((b) => b.rollout_group_ids),
  makers: bundles.map((b) => b.published_by),
})

export const viewBundle = (b: BundleRow, { current, variants, applied, pending }: Reach, names: Names): BundleView => ({
  bundle_id: encodeId('policy_bundle', b.bundle_id),
  tenant_id: encodeId('tenant', b.tenant_id),
  version: b.version,
  channel: b.channel,
  digest: b.digest,
  previous_digest: b.previous_digest,
  note: b.note,
  published_by: b.published_by,
  published_by_name: names.ofMaker(b.published_by),
  published_at: b.published_at.toISOString(),
  current,
  rollout: {
    percent: b.rollout_percent,
    group_ids: b.rollout_group_ids.map((id) => encodeId('group', id)),
    group_names: names.ofAll('group', b.rollout_group_ids),
    device_ids: b.rollout_device_ids.map((id) => encodeId('device', id)),
  },
  tests: b.tests as PolicyTestReport,
  ...viewImpact(b.impact as StoredImpact),
  variants,
  adoption: { applied, pending },
  gate: viewGate(b),
})

export const viewGate = (b: Pick<BundleRow, `gate_${'terms' | 'state' | 'reason' | 'looks' | 'judged_at'}`>) =>
  b.gate_terms &&
  b.gate_state && {
    ...b.gate_terms,
    state: b.gate_state,
    reason: b.gate_reason,
    looks: b.gate_looks,
    judged_at: b.gate_judged_at?.toISOString() ?? null,
  }

const viewImpact = ({ warnings = [], ...impact }: StoredImpact) => ({ impact, warnings })

export const viewDecision = (d: Decision) => ({
  decision: d.decision,
  rule_id: d.rule_id,
  reason: d.reason,
  valid_until: d.valid_until === null ? null : new Date(d.valid_until).toISOString(),
})

export const viewExplanation = ({
  decision,
  blockedBy,
  channel,
  version,
  posture,
}: PolicyExplanation): Output<Contract['explainPolicy']> => ({
  ...viewDecision(decision),
  ...(blockedBy[0] && { decision: 'deny', reason: reasonOf(decision, blockedBy[0]) }),
  policy_decision: decision.decision,
  blocked_by: blockedBy,
  channel,
  version,
  rules: decision.rules.map(viewRule),
  would_allow: decision.would_allow.map(({ lacks, ...rule }) => ({ ...rule, lacks: lacks.map(viewCondition) })),
  posture: posture.checks
    .filter((c) => c.applies)
    .map(({ id, passed, reason_code, expected, actual }) => ({ check_id: id, passed, reason_code, expected, actual })),
  posture_verdict: posture.verdict,
})

const reasonOf = ({ decision, reason }: PolicyExplanation['decision'], { kind, detail }: Blocker): string => {
  if (kind === 'policy') return reason
  return decision === 'allow' ? `allowed by policy, but ${detail}` : detail
}

const viewRule = ({ rule_id, action, matched, conditions }: ExplainedRule) => ({
  rule_id,
  action,
  matched,
  conditions: conditions.map(viewCondition),
})
const viewCondition = <C extends { expected?: unknown; actual?: unknown }>(c: C) => ({
  ...c,
  expected: c.expected ?? null,
  actual: c.actual ?? null,
})
