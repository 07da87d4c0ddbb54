import type { CompiledPolicy, CompiledRule } from './compile.ts'
import type { DeviceFacts } from './facts.ts'
import { inRange, parseAddress } from './network.ts'
import { type CheckOutcome, evaluateCheck } from './posture.ts'
import { isOpen, nextChange } from './time-window.ts'

/** The circumstances of a connection. An absent field is unknown. Times are milliseconds since the epoch. */
export type ConnectionContext = { at: number; source_ip?: string; country?: string; mfa_at?: number }

type ConditionState = 'holds' | 'fails' | 'unknown'

export type Condition = {
  readonly property: string
  readonly expected: unknown
  readonly actual: unknown
  readonly state: ConditionState
  /** Returns when the state may change by time alone. Infinity: never. */
  readonly until: () => number
}

/** The conditions of a rule on the connection and on time. */
export type Conditioned = Pick<CompiledRule, 'action' | 'windows' | 'sources' | 'expiresAt'> & {
  readonly rule: Pick<CompiledRule['rule'], 'when' | 'expires_at'>
}

/** A device in its circumstances. Each check is evaluated once, however many rules require it. */
export type Situation = {
  readonly compiled: CompiledPolicy
  readonly facts: DeviceFacts
  readonly context: ConnectionContext
  readonly source: bigint | null
  readonly outcomes: Map<number, CheckOutcome>
}

export const createSituation = (
  compiled: CompiledPolicy,
  facts: DeviceFacts,
  context: ConnectionContext,
): Situation => ({
  compiled,
  facts,
  context,
  source: sourceOf(context),
  outcomes: new Map(),
})

export const sourceOf = ({ source_ip }: ConnectionContext): bigint | null =>
  source_ip === undefined ? null : parseAddress(source_ip)

const never = (): number => Number.POSITIVE_INFINITY
const none: readonly Condition[] = []
const stateOf = (known: boolean, holds: boolean): ConditionState => (!known ? 'unknown' : holds ? 'holds' : 'fails')

/** Returns the conditions of a rule, each with its state. */
export function conditionsOf(rule: CompiledRule, situation: Situation): readonly Condition[] {
  if (!rule.rule.when && rule.rule.expires_at === undefined) return none
  const ofPosture = rule.checks.map((check) => postureCondition(check, situation))
  return [...ofPosture, ...connectionConditions(rule, situation)]
}

/** Returns the conditions that a gateway evaluates: all but posture, which the server has already applied. */
export function connectionConditions(
  { rule: { when, expires_at }, windows, sources, expiresAt }: Conditioned,
  { context, source }: Pick<Situation, 'context' | 'source'>,
): readonly Condition[] {
  if (!when && expires_at === undefined) return none
  const { at, source_ip, country, mfa_at } = context
  const conditions: Condition[] = []
  const add = (
    property: string,
    expected: unknown,
    actual: unknown,
    state: ConditionState,
    until: () => number,
  ): void => {
    conditions.push({ property, expected, actual: actual ?? null, state, until })
  }
  if (expires_at !== undefined) {
    const isBefore = at < expiresAt
    add(
      'expires_at',
      expires_at,
      new Date(at).toISOString(),
      stateOf(true, isBefore),
      isBefore ? () => expiresAt : never,
    )
  }
  if (when?.time) {
    add('time', when.time, new Date(at).toISOString(), stateOf(true, isOpen(windows, at)), () =>
      nextChange(windows, at),
    )
  }
  if (when?.countries) {
    add(
      'country',
      when.countries,
      country,
      stateOf(country !== undefined, when.countries.includes(country ?? '')),
      never,
    )
  }
  if (when?.cidrs) {
    const isInside = source !== null && sources.some((range) => inRange(range, source))
    add('source_ip', when.cidrs, source_ip, stateOf(source !== null, isInside), never)
  }
  if (when?.mfa_within_seconds !== undefined) {
    const staleAt = (mfa_at ?? 0) + when.mfa_within_seconds * 1_000 + 1
    const proved = mfa_at === undefined ? null : new Date(mfa_at).toISOString()
    const isFresh = at < staleAt
    add(
      'mfa_within_seconds',
      when.mfa_within_seconds,
      proved,
      stateOf(mfa_at !== undefined, isFresh),
      isFresh ? () => staleAt : never,
    )
  }
  return conditions
}

function postureCondition(index: number, { compiled, facts, context, outcomes }: Situation): Condition {
  const check = compiled.checks[index]
  if (!check) throw new RangeError(`the policy has no posture check ${index}`)
  const outcome = outcomes.get(index) ?? evaluateCheck(check, facts, context.at)
  outcomes.set(index, outcome)
  const isBinding = check.enforcement === 'enforce'
  return {
    property: `posture.${check.id}`,
    expected: isBinding ? 'passed' : check.enforcement,
    actual: outcome.reason,
    state: isBinding ? stateOf(outcome.value !== null, outcome.value === true) : 'holds',
    until: isBinding ? () => outcome.until : never,
  }
}

/**
 * True if a condition permits its rule to apply. Unknown leads to denial: it fails an allow rule, and does not disable
 * a deny rule.
 */
export const isMet = ({ action }: Conditioned, { state }: Condition): boolean =>
  action === 'allow' ? state === 'holds' : state !== 'fails'

/** Returns when `conditions.every(isMet)` may change by time alone. */
export function untilOf(rule: Conditioned, conditions: readonly Condition[]): number {
  const unmet = conditions.filter((condition) => !isMet(rule, condition)).map((condition) => condition.until())
  if (unmet.length > 0) return Math.max(...unmet)
  return Math.min(...conditions.map((condition) => condition.until()))
}
