import type { PolicySubjects } from '@holdfast/contract/policy-document'
import type { CompiledPolicy, CompiledRule } from './compile.ts'
import type { DeviceFacts } from './facts.ts'

/** Unmet condition of a rule: the requirement, and the actual value (null: unknown). */
export type Lack = { property: string; expected: unknown; actual: unknown }

const most = 3
const oneOf = (names: readonly string[]): string => {
  const some = names.slice(0, most)
  const more = names.length - some.length
  const all = more > 0 ? [...some, `${more} more`] : some
  return all.length > 1 ? `${all.slice(0, -1).join(', ')} or ${all.at(-1)}` : (all[0] ?? '')
}
const listed = (names: readonly string[]): string => {
  const some = names.slice(0, most)
  return names.length > most ? `${some.join(', ')} and ${names.length - most} more` : some.join(' and ')
}
const nouns = { users: 'user', groups: 'group', tags: 'tag', devices: 'device' } as const
const named = (ids: Readonly<Record<string, string>>, has: (id: string) => boolean) =>
  Object.entries(ids).flatMap(([name, id]) => (has(id) ? [name] : []))

/**
 * Describes a rule that does not select the device: its subjects, and the device's own attributes, by their names in
 * the document.
 */
export function whoLacks({ resolved }: CompiledPolicy, { rule }: CompiledRule, facts: DeviceFacts): Lack {
  return {
    property: 'from',
    expected: rule.except ? { ...rule.from, except: rule.except } : rule.from,
    actual: {
      users: named(resolved.users, (id) => id === facts.user_id),
      groups: named(resolved.groups, (id) => facts.group_ids.includes(id)),
      tags: [...facts.tags],
    },
  }
}

/** Tells if `from` of a rule names the device, and if `except` names it. */
type Named = { readonly from: boolean; readonly except: boolean }

const excluded = 'excludes this device in "except"'

/** "needs group engineering; the device's user is in sales" */
function whoSentence({ rule }: CompiledRule, lack: Lack, facts: DeviceFacts, isNamed: Named): string {
  if (isNamed.from) return excluded
  const from: PolicySubjects = rule.from
  const kinds = (Object.keys(nouns) as (keyof typeof nouns)[]).filter((kind) => (from[kind]?.length ?? 0) > 0)
  const needed = kinds.map((kind) => `${nouns[kind]} ${oneOf(from[kind] ?? [])}`)
  const { groups, tags } = lack.actual as { groups: string[]; tags: string[] }
  const is = [
    ...(kinds.includes('groups') ? [facts.user_id === null ? 'has no user' : inGroups(groups)] : []),
    ...(kinds.includes('tags') ? [tags.length > 0 ? `has tag ${listed(tags)}` : 'has no tags'] : []),
  ]
  const known = is.map((text) => (text.startsWith('has') ? `the device ${text}` : `the device's user ${text}`))
  const exception = isNamed.except ? [`and it ${excluded}`] : []
  return [`needs ${needed.join(', or ') || 'another device'}`, ...known, ...exception].join('; ')
}
const inGroups = (groups: readonly string[]) =>
  groups.length > 0 ? `is in ${listed(groups)}` : "is in none of the policy's groups"

const told: Readonly<Record<string, string>> = {
  no_report: 'the device has sent no report',
  stale_report: 'the last report is too old',
  fact_missing: 'a fact is missing in the report, or has another type',
  failed: 'the check fails',
}

function conditionSentence({ property, expected, actual }: Lack): string {
  const names = Array.isArray(expected) ? oneOf(expected.map(String)) : String(expected)
  const unknown = (what: string) => (actual === null ? `${what} is unknown` : `${what} is ${String(actual)}`)
  if (property.startsWith('posture.'))
    return `needs posture check ${property.slice('posture.'.length)} to pass; ${told[String(actual)] ?? 'the check does not pass'}`
  if (property === 'time') return `needs an open time window; the time is ${String(actual)}`
  if (property === 'expires_at') return `ended at ${names}`
  if (property === 'country') return `needs country ${names}; ${unknown('the country')}`
  if (property === 'source_ip') return `needs a source address in ${names}; ${unknown('the source address')}`
  return `needs a second factor used within the last ${names} seconds; ${actual === null ? 'the time of the last one is unknown' : `the last one was used at ${String(actual)}`}`
}

/** Returns the predicate of a sentence about everything that a rule lacks: "needs …; and needs …". */
export const sentenceOf = (rule: CompiledRule, lacks: readonly Lack[], facts: DeviceFacts, isNamed: Named): string =>
  lacks
    .map((lack) => (lack.property === 'from' ? whoSentence(rule, lack, facts, isNamed) : conditionSentence(lack)))
    .join('; and ')
