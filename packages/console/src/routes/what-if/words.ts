import type { OutputOf } from '../../api/client.ts'

export type Explanation = OutputOf<'POST /v1/admin/policy/explain'>
type ExplainedRule = Explanation['rules'][number]
/** Condition of a rule beside what the device has. */
type Condition = ExplainedRule['conditions'][number]

/** The rule that an answer is about, and its conditions. */
export type Trace = { ruleId: string; action: 'allow' | 'deny' | undefined; conditions: readonly Condition[] }

/**
 * Returns the rule that decides. If none does, returns the rule that lacks least for an allow, with what it lacks.
 */
export function traceOf({ rule_id, rules, would_allow }: Explanation): Trace | undefined {
  const nearest = would_allow[0]
  const id = rule_id ?? nearest?.rule_id
  if (id === undefined) return undefined
  const rule = rules.find((one) => one.rule_id === id)
  const known = rule?.conditions ?? []
  const missing = rule_id === null ? (nearest?.lacks ?? []) : []
  const others = missing.filter(({ property }) => !known.some((one) => one.property === property))
  return {
    ruleId: id,
    action: rule?.action,
    conditions: [...known, ...others.map((lack) => ({ ...lack, passed: false }))],
  }
}

/** @example valueText({ groups: ['sre'] }) // 'groups sre' */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join(' or ')
  if (typeof value !== 'object') return String(value)
  const entries = Object.entries(value).filter(([, v]) => !(Array.isArray(v) && v.length === 0))
  return entries.length === 0 ? 'none' : entries.map(([key, v]) => `${key} ${valueText(v)}`).join('; ')
}

/** @example propertyWord('posture.disk') // 'posture check disk' */
export const propertyWord = (property: string): string =>
  property
    .replace(/^posture\./, 'posture check ')
    .replace(/_/g, ' ')
    .replace(/^mfa within seconds$/, 'second factor within seconds')

type Decided = Pick<Explanation, 'decision'>
/** @example titleOf(after, 'canary v43', before, 'stable v42') // 'Denied under canary v43, allowed under stable v42' */
export function titleOf(first: Decided, label: string, second?: Decided, secondLabel?: string): string {
  const verb = ({ decision }: Decided) => (decision === 'allow' ? 'llowed' : 'enied')
  const start = ({ decision }: Decided) => (decision === 'allow' ? 'A' : 'D')
  const under = (text: string) => (text === 'Delivered now' ? 'now' : `under ${lower(text)}`)
  const head = `${start(first)}${verb(first)} ${under(label)}`
  if (!second || secondLabel === undefined) return head
  if (first.decision === second.decision) return `${head}, and ${under(secondLabel)}`
  return `${head}, ${start(second).toLowerCase()}${verb(second)} ${under(secondLabel)}`
}
const lower = (text: string) => text.charAt(0).toLowerCase() + text.slice(1)
