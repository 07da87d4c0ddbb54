import { createHash } from 'node:crypto'
import { type AtomIndex, selectRules } from './atoms.ts'
import { type Bits, equalBits, hasBit, hashBits, membersOf, wordsFor } from './bits.ts'
import type { CompiledPolicy } from './compile.ts'
import type { DeviceFacts } from './facts.ts'
import { evaluateCheck } from './posture.ts'

/** The part of a policy that a device gets. */
export type Selection = {
  /** Equal for all devices of this policy that share the selection, and for no others. */
  readonly key: string
  /** Indices into `compiled.rules`, ascending. */
  readonly rules: readonly number[]
  /** Indices of the posture checks that its rules require, passed or not, ascending. */
  readonly checks: readonly number[]
  /** Time at which a posture verdict may change without a new report, in milliseconds since the epoch. */
  readonly valid_until: number | null
}

/** The rules that concern a device by its identity, before posture. All devices with the same rules share it. */
export type Concern = {
  readonly rules: Bits
  /** Checks that those rules require. The enforced ones decide which rules remain. */
  readonly required: readonly number[]
  readonly enforced: readonly number[]
  readonly selections: Map<string, Selection>
}

type Memory = {
  readonly concerns: Map<number, Concern[]>
  readonly scratch: Bits
  count: number
  /**
   * By list of groups and list of tags, for devices that no rule names by user or device. Devices with the same lists
   * share the entry.
   */
  readonly byLists: Map<readonly string[], Map<readonly string[], Concern>>
  lists: number
}

const memories = new WeakMap<CompiledPolicy, Memory>()
const maxConcerns = 20_000
const maxSelections = 256
const maxLists = 5_000

function memoryOf(compiled: CompiledPolicy): Memory {
  const known = memories.get(compiled)
  if (known) return known
  const memory = {
    concerns: new Map<number, Concern[]>(),
    scratch: new Uint32Array(wordsFor(compiled.rules.length)),
    count: 0,
    byLists: new Map(),
    lists: 0,
  }
  memories.set(compiled, memory)
  return memory
}

/**
 * Returns the rules that concern a device by its user, groups, tags and id. `documentGroups`: the device is also of a
 * user in these groups of the document, for tests. The lists of a device must never be modified, because they are the
 * keys of the cache.
 */
export function concernOf(
  compiled: CompiledPolicy,
  facts: DeviceFacts,
  documentGroups: readonly string[] = [],
): Concern {
  const memory = memoryOf(compiled)
  if (documentGroups.length > 0 || isNamed(compiled.from, facts) || isNamed(compiled.except, facts))
    return findConcern(memory, compiled, facts, documentGroups)
  const byTags = memory.byLists.get(facts.group_ids)
  const known = byTags?.get(facts.tags)
  if (known) return known
  const concern = findConcern(memory, compiled, facts, [])
  if (++memory.lists > maxLists) {
    memory.byLists.clear()
    memory.lists = 1
  }
  memory.byLists.set(facts.group_ids, (memory.byLists.get(facts.group_ids) ?? new Map()).set(facts.tags, concern))
  return concern
}

/** True if a rule names this device or its user directly. */
const isNamed = ({ users, devices }: AtomIndex, { user_id, device_id }: DeviceFacts): boolean =>
  devices.has(device_id) || (user_id !== null && users.has(user_id))

function findConcern(
  memory: Memory,
  compiled: CompiledPolicy,
  facts: DeviceFacts,
  documentGroups: readonly string[],
): Concern {
  const { scratch } = memory
  selectRules(compiled.from, compiled.except, facts, scratch, documentGroups)
  const hash = hashBits(scratch)
  const alike = memory.concerns.get(hash)
  const known = alike?.find((concern) => equalBits(concern.rules, scratch))
  if (known) return known

  if (++memory.count > maxConcerns) {
    memory.concerns.clear()
    memory.count = 1
  }
  const concern = createConcern(compiled, scratch.slice())
  memory.concerns.set(hash, [...(memory.concerns.get(hash) ?? []), concern])
  return concern
}

function createConcern(compiled: CompiledPolicy, rules: Bits): Concern {
  const required = [...compiled.checks.keys()].filter((check) =>
    compiled.requiredBy[check]?.some((word, i) => (word & (rules[i] ?? 0)) !== 0),
  )
  const enforced = required.filter((check) => compiled.checks[check]?.enforcement === 'enforce')
  return { rules, required, enforced, selections: new Map() }
}

/**
 * Selects the rules of a device: those that concern it, without those that its posture disables. An allow rule remains
 * only if its enforced checks pass. A deny rule is dropped only if one of them is known to fail. Other checks disable
 * nothing.
 */
export function selectVariant(compiled: CompiledPolicy, facts: DeviceFacts, nowMs: number): Selection {
  const concern = concernOf(compiled, facts)
  let until = Number.POSITIVE_INFINITY
  let verdicts = ''
  for (const check of concern.enforced) {
    const known = compiled.checks[check]
    if (!known) continue
    const outcome = evaluateCheck(known, facts, nowMs)
    until = Math.min(until, outcome.until)
    verdicts += outcome.value === null ? '?' : outcome.value ? '+' : '-'
  }
  const selection = concern.selections.get(verdicts) ?? createSelection(compiled, concern, verdicts)
  return Number.isFinite(until) ? { ...selection, valid_until: until } : selection
}

function createSelection(compiled: CompiledPolicy, concern: Concern, verdicts: string): Selection {
  const verdictOf = new Map(concern.enforced.map((check, i) => [check, verdicts[i]]))
  const rules = membersOf(concern.rules).filter((index) => {
    const { action, checks } = ruleAt(compiled, index)
    const outcomes = checks.map((check) => verdictOf.get(check) ?? '+')
    return action === 'allow' ? outcomes.every((o) => o === '+') : !outcomes.includes('-')
  })
  const selection: Selection = {
    key: keyOf(compiled, rules, concern.required),
    rules,
    checks: concern.required,
    valid_until: null,
  }
  if (concern.selections.size >= maxSelections) concern.selections.clear()
  concern.selections.set(verdicts, selection)
  return selection
}

/** Built from names, not indices, so that it stays the same when the policy is compiled again. */
function keyOf(compiled: CompiledPolicy, rules: readonly number[], checks: readonly number[]): string {
  const names = [...rules.map((i) => ruleAt(compiled, i).id), '', ...checks.map((i) => compiled.checks[i]?.id)]
  return createHash('sha256').update(names.join('\n')).digest('base64url')
}

export function ruleAt(compiled: CompiledPolicy, index: number) {
  const rule = compiled.rules[index]
  if (!rule) throw new RangeError(`the policy has no rule ${index}`)
  return rule
}

const nobody: AtomIndex = {
  any: new Uint32Array(),
  users: new Map(),
  groups: new Map(),
  tags: new Map(),
  devices: new Map(),
  documentGroups: new Map(),
}
/** Returns tests if `from` of a rule names a device, and if `except` names it. */
export function namedBy(compiled: CompiledPolicy, facts: DeviceFacts): Record<'from' | 'except', RuleTest> {
  const rulesOf = (index: AtomIndex): RuleTest => {
    const named = new Uint32Array(wordsFor(compiled.rules.length))
    selectRules(index, nobody, facts, named)
    return (rule) => hasBit(named, rule)
  }
  return { from: rulesOf(compiled.from), except: rulesOf(compiled.except) }
}
type RuleTest = (rule: number) => boolean

/** True if a rule concerns a device by its identity. */
export const isConcerned = (concern: Concern, rule: number): boolean => hasBit(concern.rules, rule)
