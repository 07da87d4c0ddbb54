import { formatList } from '../../ui/format.ts'
import { formatDuration } from '../../ui/format-time.ts'

type Fields = Readonly<Record<string, unknown>>
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const textsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** A name in a rule, and its kind: the row shows each kind in its own way. */
export type Token = { kind: 'group' | 'user' | 'tag' | 'device' | 'any' | 'place'; text: string }

const subjectKinds = ['user', 'group', 'tag', 'device'] as const

/** Names of the subjects of a rule, in both forms of the language. */
export function subjectsOf(from: unknown): Token[] {
  if (!isFields(from)) return []
  const named = subjectKinds.flatMap((kind) =>
    [...textsIn(from[kind]), ...textsIn(from[`${kind}s`])].map((text) => ({ kind, text })),
  )
  return from.any === true ? [{ kind: 'any', text: 'any device' }, ...named] : named
}

export const targetsOf = (to: unknown): Token[] =>
  textsIn(to).map((text) => ({ kind: 'place', text: text === '*' ? 'every destination' : text }))

const dayNames = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** @example daysOf(['mon', 'tue', 'wed']) // 'Mon–Wed' */
function daysOf(days: readonly string[]): string {
  const places = days.map((day) => dayNames.indexOf(day)).sort((a, b) => a - b)
  const isRun = places.length > 2 && places.every((place, i) => place === places[0]! + i)
  if (isRun) return `${capital(dayNames[places[0]!]!)}–${capital(dayNames[places.at(-1)!]!)}`
  return formatList(places.map((place) => capital(dayNames[place] ?? '')))
}

function windowOf(window: unknown): string {
  if (!isFields(window)) return ''
  const days = textsIn(window.days)
  return [days.length > 0 && daysOf(days), `${window.from}–${window.to}`, window.zone].filter(Boolean).join(' ')
}

/**
 * Conditions of a rule in words.
 *
 * @example conditionsOf(rule) // ['posture: disk, patched', 'second factor of the last 8 h']
 */
export function conditionsOf(rule: Fields): string[] {
  const when = isFields(rule.when) ? rule.when : {}
  const { posture, time, countries, cidrs, mfa_within_seconds: mfa } = when
  const windows = Array.isArray(time) ? time.map(windowOf).filter(Boolean) : []
  const parts: (string | false)[] = [
    textsIn(posture).length > 0 && `posture: ${textsIn(posture).join(', ')}`,
    typeof mfa === 'number' && `second factor of the last ${formatDuration(mfa)}`,
    windows.length > 0 && windows.join(' or '),
    textsIn(countries).length > 0 && `from ${textsIn(countries).join(', ')}`,
    textsIn(cidrs).length > 0 && `from ${textsIn(cidrs).join(', ')}`,
    textsIn(rule.ports).length > 0 && `ports ${textsIn(rule.ports).join(', ')}`,
    textsIn(rule.via).length > 0 && `through ${textsIn(rule.via).join(', ')}`,
    typeof rule.expires_at === 'string' && `until ${rule.expires_at}`,
    rule.log === true && 'recorded',
  ]
  return parts.filter((part) => part !== false)
}

/** One line about an entry of another part, for a table of them. */
export function summaryOf(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (!isFields(value)) return JSON.stringify(value) ?? ''
  const { description: _, name: __, ...shown } = value
  return Object.entries(shown)
    .map(([key, one]) => `${key.replaceAll('_', ' ')} ${shortText(one)}`)
    .join(' · ')
}

function shortText(value: unknown): string {
  if (Array.isArray(value))
    return value.length > 4 ? `${value.slice(0, 4).map(shortText).join(', ')} …` : value.map(shortText).join(', ')
  if (isFields(value))
    return Object.entries(value)
      .map(([key, one]) => `${key} ${shortText(one)}`)
      .join(', ')
  return String(value)
}
