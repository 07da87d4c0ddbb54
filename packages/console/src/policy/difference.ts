import { textInside } from './text.ts'

/** Policy document as the API returns it. */
export type Document = Readonly<Record<string, unknown>>

/** Parts of a document whose entries have names, in the order in which they are shown. */
const parts = ['rules', 'resources', 'hosts', 'groups', 'posture_checks', 'tests', 'settings'] as const
export type Part = (typeof parts)[number] | 'other'

/** An entry of a document: a rule, a resource, a setting. */
type Entry = { part: Part; name: string; value: unknown; line: number; text: string }
type Side = Pick<Entry, 'line' | 'text'>
/** An entry that two documents have differently. */
export type Difference = { part: Part; name: string; before?: Side; after?: Side; description?: string }

/**
 * Returns the entries that differ, by part and name. Rules are compared by their id, tests by their name. An order of
 * rules or of fields makes no difference, because the policy has none.
 *
 * @example differencesOf(stable.policy, canary.policy) // [{ part: 'rules', name: 'git', before: …, after: … }]
 */
export function differencesOf(before: Document, after: Document): Difference[] {
  const [old, now] = [entriesOf(before), entriesOf(after)]
  const changed: Difference[] = []
  for (const [key, entry] of now) {
    const was = old.get(key)
    if (was && canonicalOf(was.value) === canonicalOf(entry.value)) continue
    changed.push({ ...named(entry), after: sideOf(entry), ...(was && { before: sideOf(was) }) })
  }
  for (const [key, entry] of old) if (!now.has(key)) changed.push({ ...named(entry), before: sideOf(entry) })
  const order = [...parts, 'other']
  return changed.sort((a, b) => order.indexOf(a.part) - order.indexOf(b.part))
}

const sideOf = ({ line, text }: Entry): Side => ({ line, text })
const named = ({ part, name, value }: Entry) => {
  const description = isFields(value) ? value.description : undefined
  return { part, name, ...(typeof description === 'string' && { description }) }
}

/** Serializes with sorted keys, so that an order of fields makes no difference. */
export function canonicalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalOf).join(',')}]`
  if (!isFields(value)) return JSON.stringify(value) ?? 'null'
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalOf(value[key])}`)
    .join(',')}}`
}

const isFields = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const linesIn = (text: string): number => text.split('\n').length

/** Returns each entry with its place in `textOf(document)`, by part and name. */
function entriesOf(document: Document): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  const add = (part: Part, name: string, value: unknown, line: number, key?: string) => {
    const body = textInside(value, part === 'other' ? 'field' : key === undefined ? 'item' : 'entry')
    const text = key === undefined ? body : `${JSON.stringify(key)}: ${body}`
    // A document from a file may repeat an id. Both entries are shown.
    let id = `${part}/${name}`
    for (let i = 2; entries.has(id); i++) id = `${part}/${name} (${i})`
    entries.set(id, { part, name: id.slice(part.length + 1), value, line, text })
    return linesIn(body)
  }
  let line = 2
  for (const [key, value] of Object.entries(document)) {
    const part = parts.find((one) => one === key)
    if (part === undefined || typeof value !== 'object' || value === null) line += add('other', key, value, line, key)
    else if (Array.isArray(value)) {
      let at = line + 1
      for (const [i, item] of value.entries()) at += add(part, nameOf(item, i), item, at)
      line = after(line, at)
    } else {
      let at = line + 1
      for (const [name, entry] of Object.entries(value)) at += add(part, name, entry, at, name)
      line = after(line, at)
    }
  }
  return entries
}

/** Line after a part that begins at one line and has its closing bracket at another. An empty part has one line. */
const after = (begin: number, end: number): number => (end === begin + 1 ? begin : end) + 1

function nameOf(item: unknown, place: number): string {
  const { id, name } = isFields(item) ? item : {}
  return typeof id === 'string' ? id : typeof name === 'string' ? name : `${place + 1}`
}
