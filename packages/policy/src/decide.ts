import { idOf } from './atoms.ts'
import { membersOf } from './bits.ts'
import type { CompiledPolicy, CompiledRule } from './compile.ts'
import {
  type Condition,
  type ConnectionContext,
  conditionsOf,
  createSituation,
  isMet,
  type Situation,
  untilOf,
} from './conditions.ts'
import type { DeviceFacts } from './facts.ts'
import { type Aim, aimAt, destinationsTowards, reachesSome } from './reach.ts'
import { type Concern, concernOf, isConcerned, namedBy, ruleAt } from './select.ts'
import { type Lack, sentenceOf, whoLacks } from './sentence.ts'
import type { Target } from './target.ts'

export type Decision = {
  decision: 'allow' | 'deny'
  /** The rule that decided; null if none matched. */
  rule_id: string | null
  /** One sentence. */
  reason: string
  /** Time at which the answer may change by time alone, in milliseconds since the epoch; null: never. */
  valid_until: number | null
  /** If allowed: the pools (pool_id) through which the target is reached. Null: through every pool. */
  pools: string[] | null
  /** Every rule that concerns the device, by id. */
  rules: ExplainedRule[]
  /** If denied: rules that would have allowed it, with their unmet conditions. Those with the fewest come first. */
  would_allow: WouldAllow[]
}
/** `sentence` describes the unmet conditions of the rule. */
type WouldAllow = { rule_id: string; sentence: string; lacks: Lack[] }

/** Most rules listed. */
const nearestMost = 5

export type ExplainedRule = {
  rule_id: string
  action: 'allow' | 'deny'
  /** True if the rule covers the target, or a part of it. */
  covers_target: boolean
  /** True if the rule also applies: all its conditions are met. */
  matched: boolean
  conditions: { property: string; expected: unknown; actual: unknown; passed: boolean }[]
}

/**
 * Decides if a device may reach a target now, and why. Deny takes precedence over allow; without a matching rule the
 * target is denied. A target with several addresses or ports (a resource, a network, no port given) is allowed if any
 * part of it is. `deny` means that no part can be reached.
 */
export function decide(
  compiled: CompiledPolicy,
  facts: DeviceFacts,
  context: ConnectionContext,
  target: Target,
): Decision {
  const situation = createSituation(compiled, facts, context)
  const concern = concernOf(compiled, facts)
  const aim = aimAt(compiled, target)
  const verdict = judge(situation, concern, aim)
  const covered = new Set(verdict.considered.map(({ rule }) => rule.id))
  return {
    decision: verdict.decision,
    rule_id: verdict.rule?.id ?? null,
    reason: verdict.reason,
    valid_until: finite(validUntil(verdict)),
    pools: poolsThrough(compiled, aim, verdict.reaching),
    rules: membersOf(concern.rules).map((index) => explain(ruleAt(compiled, index), situation, covered)),
    would_allow: verdict.decision === 'deny' ? nearest(situation, facts, concern, aim) : [],
  }
}

export type ReachTest = (facts: DeviceFacts, context: ConnectionContext) => string | null

/**
 * Returns a test of one target for many devices. The test returns the id of the rule that allows it, or null. It agrees
 * with `decide`.
 */
export function createReachTest(compiled: CompiledPolicy, target: Target): ReachTest {
  const aim = aimAt(compiled, target)
  return (facts, context) => {
    const { decision, rule } = judge(createSituation(compiled, facts, context), concernOf(compiled, facts), aim)
    return decision === 'allow' && rule ? rule.id : null
  }
}

function nearest(situation: Situation, facts: DeviceFacts, concern: Concern, aim: Aim): WouldAllow[] {
  const { compiled } = situation
  const found = [...aim.rules].flatMap((index) => {
    const rule = ruleAt(compiled, index)
    if (rule.action !== 'allow') return []
    const unmet = conditionsOf(rule, situation)
      .filter((condition) => !isMet(rule, condition))
      .map(({ property, expected, actual }) => ({ property, expected, actual }))
    const lacks = isConcerned(concern, index) ? unmet : [whoLacks(compiled, rule, facts), ...unmet]
    return lacks.length > 0 ? [{ index, rule, lacks }] : []
  })
  const named = namedBy(compiled, facts)
  return found
    .sort((a, b) => a.lacks.length - b.lacks.length)
    .slice(0, nearestMost)
    .map(({ index, rule, lacks }) => ({
      rule_id: rule.id,
      sentence: sentenceOf(rule, lacks, facts, { from: named.from(index), except: named.except(index) }),
      lacks,
    }))
}

const finite = (instant: number): number | null => (Number.isFinite(instant) ? instant : null)

function explain(rule: CompiledRule, situation: Situation, covered: ReadonlySet<string>): ExplainedRule {
  const conditions = conditionsOf(rule, situation)
  const covers = covered.has(rule.id)
  return {
    rule_id: rule.id,
    action: rule.action,
    covers_target: covers,
    matched: covers && conditions.every((condition) => isMet(rule, condition)),
    conditions: conditions.map((condition) => ({
      property: condition.property,
      expected: condition.expected,
      actual: condition.actual,
      passed: isMet(rule, condition),
    })),
  }
}

type Considered = { readonly rule: CompiledRule; readonly conditions: readonly Condition[]; readonly met: boolean }

type Verdict = {
  readonly decision: 'allow' | 'deny'
  readonly rule: CompiledRule | null
  readonly reason: string
  /** Rules that concern the device and cover a part of the target. */
  readonly considered: readonly Considered[]
  /** Rules that allow it. */
  readonly reaching: readonly CompiledRule[]
}

/**
 * Returns the pools through which rules lead to an aim: those named in a rule, otherwise those of the rule's resources.
 */
function poolsThrough(compiled: CompiledPolicy, aim: Aim, rules: readonly CompiledRule[]): string[] | null {
  const { resources = {} } = compiled.resolved.document
  const pools = new Set<string>()
  for (const rule of rules) {
    for (const pool of rule.via) pools.add(pool)
    if (rule.via.length > 0) continue
    for (const name of destinationsTowards(compiled, aim, rule)) {
      const pool = Object.hasOwn(resources, name) ? resources[name]?.pool : undefined
      if (pool === undefined) return null
      pools.add(idOf(compiled.resolved.pools, pool))
    }
  }
  return [...pools].sort()
}

/**
 * Returns the decision without the explanation. Of several rules that allow, the one that allows for the longest time
 * decides.
 */
export function judge(situation: Situation, concern: Concern, aim: Aim): Verdict {
  const { compiled } = situation
  const considered: Considered[] = []
  for (const index of aim.rules) {
    if (!isConcerned(concern, index)) continue
    const rule = ruleAt(compiled, index)
    const conditions = conditionsOf(rule, situation)
    considered.push({ rule, conditions, met: conditions.every((condition) => isMet(rule, condition)) })
  }
  const denies = considered.filter(({ rule, met }) => met && rule.action === 'deny').map(({ rule }) => rule)
  const allows = considered.filter(({ rule, met }) => met && rule.action === 'allow')
  const reaching = denies.length === 0 ? allows : allows.filter(({ rule }) => reachesSome(compiled, aim, rule, denies))
  const best = longest(reaching)
  if (best) {
    const reason = `rule "${best.rule.id}" allows it`
    return { decision: 'allow', rule: best.rule, reason, considered, reaching: reaching.map(({ rule }) => rule) }
  }
  const [denying = null] = denies
  const reason = denying ? `rule "${denying.id}" denies it` : (aim.problem ?? nothingMatched(considered))
  return { decision: 'deny', rule: denying, reason, considered, reaching: [] }
}

function longest(reaching: readonly Considered[]): Considered | undefined {
  const [first, ...others] = reaching
  if (!first || others.length === 0 || first.conditions.length === 0) return first
  const untils = new Map(reaching.map((item) => [item, untilOf(item.rule, item.conditions)]))
  return others.reduce((best, item) => ((untils.get(item) ?? 0) > (untils.get(best) ?? 0) ? item : best), first)
}

function nothingMatched(considered: readonly Considered[]): string {
  const nearest = considered.find(({ rule }) => rule.action === 'allow')
  if (!nearest) return 'no rule allows it, so it is denied'
  const failed = nearest.conditions
    .filter((condition) => !isMet(nearest.rule, condition))
    .map(({ property }) => property)
  return `rule "${nearest.rule.id}" would allow it, but these conditions are not met: ${failed.join(', ')}`
}

/** An allow is valid while its rule applies and no deny rule begins to apply. A deny is valid while no rule changes. */
function validUntil({ decision, rule, considered }: Verdict): number {
  const matter =
    decision === 'allow' ? considered.filter((item) => item.rule === rule || item.rule.action === 'deny') : considered
  return Math.min(...matter.map((item) => untilOf(item.rule, item.conditions)))
}
