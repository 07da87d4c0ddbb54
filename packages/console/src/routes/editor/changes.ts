import { editText, parseText } from '../../editor/document.ts'
import type { Document } from '../../policy/difference.ts'
import type { PartEntry } from './entries-pane.tsx'
import type { Edited } from './entry-sheet.tsx'
import type { EditedPart } from './field-words.ts'
import { isFields } from './rule-words.ts'

/** Entries of a part, by their place or name. */
export function entriesOf(document: Document, part: EditedPart): PartEntry[] {
  const value = document[part]
  if (Array.isArray(value))
    return value.map((item: unknown, key) => {
      const { id, name } = isFields(item) ? item : {}
      return { key, name: String(id ?? name ?? key + 1), value: item }
    })
  return Object.entries(isFields(value) ? value : {}).map(([key, item]) => ({ key, name: key, value: item }))
}

/** Rules as the document has them; none if it has no list of rules. */
export const rulesOf = (document: Document): readonly unknown[] => (Array.isArray(document.rules) ? document.rules : [])

/**
 * Applies the form of an entry to the text. Only changed fields are written, so the rest of the text stays as typed.
 *
 * @param name the name of the entry; the old one is replaced where the document refers to it
 */
export function applyEntry(text: string, document: Document, { part, key, value }: Edited, name: string): string {
  if (part === 'settings') return editText(text, ['settings'], value)
  const isList = part === 'rules' || part === 'tests'
  if (key === undefined) {
    const items = document[part]
    if (!isList) return editText(text, [part, name], value)
    return editText(text, [part], Array.isArray(items) ? [...items, value] : [value])
  }
  const before = isList
    ? (document[part] as unknown[])[Number(key)]
    : (document[part] as Record<string, unknown>)[String(key)]
  const changed = changeFields(text, [part, key], before, value)
  return isList || name === key ? changed : rename(changed, part, String(key), name)
}

function changeFields(text: string, path: readonly (string | number)[], before: unknown, after: unknown): string {
  if (!isFields(before) || !isFields(after)) return editText(text, path, after)
  let now = text
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)]))
    if (JSON.stringify(before[field]) !== JSON.stringify(after[field]))
      now = editText(now, [...path, field], after[field])
  return now
}

/** Removes an entry. */
export function removeEntry(text: string, document: Document, part: EditedPart, key: string | number): string {
  const value = document[part]
  return Array.isArray(value)
    ? editText(text, [part], value.toSpliced(Number(key), 1))
    : editText(text, [part, key], undefined)
}

/** Puts a copy of a rule after it, with an id of its own. */
export function copyRule(text: string, document: Document, place: number): string {
  const rules = rulesOf(document)
  const rule = rules[place]
  if (!isFields(rule)) return text
  const ids = new Set(rules.map((one) => (isFields(one) ? one.id : undefined)))
  let id = `${String(rule.id)}-copy`
  for (let i = 2; ids.has(id); i++) id = `${String(rule.id)}-copy-${i}`
  return editText(text, ['rules'], rules.toSpliced(place + 1, 0, { ...rule, id }))
}

/** Renames an entry of a part, and all names in rules, groups and tests that mean it. */
function rename(text: string, part: EditedPart, from: string, to: string): string {
  const { document } = parseText(text)
  const entries = document?.[part]
  if (!document || !isFields(entries)) return text
  const renamed = Object.fromEntries(Object.entries(entries).map(([key, value]) => [key === from ? to : key, value]))
  let now = editText(text, [part], renamed)
  for (const path of placesOf({ ...document, [part]: renamed }, part, from)) {
    const value = valueAt(document, path)
    now = editText(
      now,
      path.map((step, i) => (i === 1 && path[0] === part && step === from ? to : step)),
      String(value).replace(from, to),
    )
  }
  return now
}

const valueAt = (document: unknown, path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((at, step) => (at as Record<string | number, unknown> | undefined)?.[step], document)

/** Places of the texts that refer to an entry by its name. */
function placesOf(document: Document, part: EditedPart, name: string): (string | number)[][] {
  const isPlace = part === 'resources' || part === 'hosts'
  const fields: Readonly<Record<string, true>> =
    part === 'groups'
      ? { group: true, groups: true }
      : part === 'posture_checks'
        ? { posture: true }
        : isPlace
          ? { to: true, allow: true, deny: true }
          : {}
  const found: (string | number)[][] = []
  const walk = (value: unknown, path: (string | number)[], isReference: boolean) => {
    if (typeof value === 'string' && isReference && (value === name || (isPlace && value.startsWith(`${name}:`))))
      found.push(path)
    else if (Array.isArray(value)) for (const [i, one] of value.entries()) walk(one, [...path, i], isReference)
    else if (isFields(value))
      for (const [key, one] of Object.entries(value)) walk(one, [...path, key], fields[key] === true)
  }
  walk(document.rules, ['rules'], false)
  walk(document.tests, ['tests'], false)
  if (part === 'groups') walk(document.groups, ['groups'], false)
  return found
}

/** Adds a test to the text of a draft, with a name of its own. */
export function withTest(text: string, test: { name: string }): string {
  const { document } = parseText(text)
  if (!document) throw new Error('The newest draft is not valid JSON. Correct it in the editor first.')
  const tests: readonly unknown[] = Array.isArray(document.tests) ? document.tests : []
  const taken = new Set(tests.map((other) => isFields(other) && other.name))
  let { name } = test
  for (let i = 2; taken.has(name); i++) name = `${test.name} (${i})`
  return editText(text, ['tests'], [...tests, { ...test, name }])
}
