import { findNodeAtLocation } from 'jsonc-parser'
import { editText, insertText, parseText } from '../../editor/document.ts'
import { canonicalOf, type Document } from '../../policy/difference.ts'
import type { PartEntry } from './entries-pane.tsx'
import type { Edited } from './entry-sheet.tsx'
import type { EditedPart } from './field-words.ts'
import { isFields } from './rule-words.ts'

/**
 * Changes the newest text of the draft. `work` returns the next text; undefined if the text lacks the entry to change.
 * False if nothing was changed.
 */
export type Edit = (work: (text: string, document: Document) => string | undefined) => boolean

const isListPart = (part: EditedPart): boolean => part === 'rules' || part === 'tests'

/** True if a part is absent, or of the type that the forms can change. */
export const isEditable = (document: Document, part: EditedPart): boolean =>
  document[part] === undefined || (isListPart(part) ? Array.isArray(document[part]) : isFields(document[part]))

/** Entries of a part, by their place or name; none if the part has a wrong type. */
export function entriesOf(document: Document, part: EditedPart): PartEntry[] {
  const value = document[part]
  if (!isEditable(document, part)) return []
  if (Array.isArray(value))
    return value.map((item: unknown, key) => {
      const { id, name } = isFields(item) ? item : {}
      return { key, name: String(id ?? name ?? key + 1), value: item }
    })
  return Object.entries(value ?? {}).map(([key, item]) => ({ key, name: key, value: item as unknown }))
}

/** True if a document still has the entry that a form shows. */
export function hasEntry(document: Document, { part, key, value }: Edited): boolean {
  if (!isEditable(document, part)) return false
  if (key === undefined) return true
  const now = part === 'settings' ? (document.settings ?? {}) : valueAt(document, [part, key])
  return canonicalOf(now) === canonicalOf(value)
}

/** Rules as the document has them; none if it has no list of rules. */
export const rulesOf = (document: Document): readonly unknown[] => (Array.isArray(document.rules) ? document.rules : [])

/**
 * Applies the form of an entry to the text. Only changed fields are written, so the rest of the text stays as typed.
 *
 * @param name the name of the entry; the old one is replaced where the document refers to it
 */
export function applyEntry(text: string, document: Document, { part, key, value }: Edited, name: string): string {
  if (part === 'settings') return changeFields(text, ['settings'], document.settings, value)
  const isList = isListPart(part)
  if (key === undefined) {
    const items = document[part]
    if (!isList) return editText(text, [part, name], value)
    return Array.isArray(items) ? insertText(text, part, items.length, value) : editText(text, [part], [value])
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
export const removeEntry = (text: string, part: EditedPart, key: string | number): string =>
  editText(text, [part, key], undefined)

/** Puts a copy of a rule after it, with an id of its own. */
export function copyRule(text: string, document: Document, place: number): string {
  const rules = rulesOf(document)
  const rule = rules[place]
  if (!isFields(rule)) return text
  const ids = new Set(rules.map((one) => (isFields(one) ? one.id : undefined)))
  let id = `${String(rule.id)}-copy`
  for (let i = 2; ids.has(id); i++) id = `${String(rule.id)}-copy-${i}`
  return insertText(text, 'rules', place + 1, { ...rule, id })
}

/** Renames an entry of a part, and all names in rules, groups and tests that mean it. */
function rename(text: string, part: EditedPart, from: string, to: string): string {
  const { tree } = parseText(text)
  const key = tree && findNodeAtLocation(tree, [part, from])?.parent?.children?.[0]
  if (!key) return text
  let now = `${text.slice(0, key.offset)}${JSON.stringify(to)}${text.slice(key.offset + key.length)}`
  const document = parseText(now).document ?? {}
  for (const path of placesOf(document, part, from)) {
    const value = String(valueAt(document, path))
    now = editText(now, path, `${to}${value.slice(from.length)}`)
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
