import { canonicalPolicy } from '@holdfast/contract/policy-forms'
import type { MergePart } from '@holdfast/contract/vocabulary'
import { canonicalText } from './diff.ts'

type Fields = Readonly<Record<string, unknown>>
/** A place that both sides changed in different ways. An absent value is undefined. */
export type MergeConflict = {
  part: MergePart
  /** Id of the rule, or name of the entry or field; null: the part as a whole. */
  name: string | null
  draft: unknown
  published: unknown
  base: unknown
}
type Merged = {
  document: Fields
  /** True if the document differs from the draft. */
  changed: boolean
  conflicts: MergeConflict[]
}

/** A value as written, and in its canonical form, by which it is compared. */
type Value = { readonly written: unknown; readonly canonical: unknown }
type Sides<T> = { readonly base: T; readonly draft: T; readonly published: T }
type Winner = 'draft' | 'published' | 'conflict'
/** Entries by id or name, in their order. */
type Entries = ReadonlyMap<string, Value>

/** Parts with entries, and the field that identifies an entry of a list. Entries of the other parts have names. */
const keyOfPart: Readonly<Partial<Record<string, 'id' | 'name' | null>>> = {
  rules: 'id',
  tests: 'name',
  resources: null,
  hosts: null,
  groups: null,
  posture_checks: null,
  settings: null,
}

/**
 * Merges the changes of a draft with those of a published document since their common base. A place that one side
 * changed has its value. A place that both changed in different ways is a conflict, and has the value of the draft.
 * Rules are compared by id, tests and other entries by name, further fields of the document as a whole. A list in which
 * an id is missing or repeated is compared as a whole, so that nothing is lost. The order is that of the draft. A new
 * published entry follows its published predecessor.
 */
export function mergePolicies({ base, draft, published }: Sides<Fields>): Merged {
  const conflicts: MergeConflict[] = []
  const sides = { base: pairOf(base), draft: pairOf(draft), published: pairOf(published) }
  const whole = winnerAsWritten(sides)
  const document =
    whole === 'conflict'
      ? (mergeEntries(
          { base: fieldsOf(sides.base), draft: fieldsOf(sides.draft), published: fieldsOf(sides.published) },
          (name, field) => mergeField(name, field, conflicts),
          null,
        ) as Fields)
      : (sides[whole].written as Fields)
  return { document, changed: !isEqual(document, draft), conflicts }
}

const pairOf = (document: Fields): Value => ({ written: document, canonical: canonicalPolicy(document).document })

/** Merges one field of the document. */
function mergeField(name: string, field: Sides<Value | undefined>, conflicts: MergeConflict[]): unknown {
  const key = Object.hasOwn(keyOfPart, name) ? keyOfPart[name] : undefined
  if (key === undefined) return settle(field, { part: 'document', name }, conflicts)
  const part = name as MergePart
  const whole = winnerAsWritten(field)
  if (whole !== 'conflict') return field[whole]?.written
  const base = entriesOf(field.base, key)
  const draft = entriesOf(field.draft, key)
  const published = entriesOf(field.published, key)
  if (!base || !draft || !published) return settle(field, { part, name: null }, conflicts)
  const merged = mergeEntries(
    { base, draft, published },
    (entry, sides) => settle(sides, { part, name: entry }, conflicts),
    key,
  )
  return field.draft === undefined && Object.keys(merged).length === 0 ? undefined : merged
}

/** Returns the value of a place, and notes a conflict. */
function settle(
  sides: Sides<Value | undefined>,
  place: { part: MergePart; name: string | null },
  conflicts: MergeConflict[],
): unknown {
  const winner = winnerOf(sides)
  if (winner !== 'conflict') return sides[winner]?.written
  const [draft, published, base] = [sides.draft?.written, sides.published?.written, sides.base?.written]
  conflicts.push({ ...place, draft, published, base })
  return draft
}

/**
 * Merges entries one by one: those of the draft in their order, each followed by the new published entries that follow
 * it.
 */
function mergeEntries(
  sides: Sides<Entries>,
  merge: (name: string, sides: Sides<Value | undefined>) => unknown,
  key: 'id' | 'name' | null,
): object {
  const results = new Map<string, unknown>()
  for (const name of new Set([...sides.draft.keys(), ...sides.published.keys(), ...sides.base.keys()])) {
    const of = ({ base, draft, published }: Sides<Entries>) => ({
      base: base.get(name),
      draft: draft.get(name),
      published: published.get(name),
    })
    const value = merge(name, of(sides))
    if (value !== undefined) results.set(name, value)
  }
  const entries = orderOf(sides, results).map((name) => [name, results.get(name)] as const)
  return key === null ? Object.fromEntries(entries) : entries.map(([, value]) => value)
}

function orderOf({ draft, published }: Sides<Entries>, results: ReadonlyMap<string, unknown>): string[] {
  const own = [...draft.keys()].filter((name) => results.has(name))
  const isOwn = new Set(own)
  /** New entries by the entry of the draft that they follow; null: they come first. */
  const after = new Map<string | null, string[]>()
  let previous: string | null = null
  for (const name of published.keys()) {
    if (isOwn.has(name)) previous = name
    else if (results.has(name)) {
      const followers = after.get(previous)
      if (followers) followers.push(name)
      else after.set(previous, [name])
    }
  }
  return [...(after.get(null) ?? []), ...own.flatMap((name) => [name, ...(after.get(name) ?? [])])]
}

/** Returns the side that has the value of a place. Two lists with the same items in another order are equal. */
function winnerOf(sides: Sides<Value | undefined>): Winner {
  const winner = winnerAsWritten(sides)
  return winner === 'conflict' ? winnerBy(sides, isEquivalent) : winner
}
/** The same, for values of which the order counts too. */
const winnerAsWritten = (sides: Sides<Value | undefined>): Winner => winnerBy(sides, isEqual)

function winnerBy({ base, draft, published }: Sides<Value | undefined>, isSame: typeof isEqual): Winner {
  const [before, mine, theirs] = [base?.canonical, draft?.canonical, published?.canonical]
  if (isSame(theirs, before)) return 'draft'
  if (isSame(mine, before)) return 'published'
  return isSame(mine, theirs) ? 'draft' : 'conflict'
}

/** Compares two JSON values without making texts of them: most differ early. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isEqual(item, b[i]))
  return isFields(a) && isFields(b) ? haveEqualFields(a, b, isEqual) : a === b
}
/** The same, in any order of lists. */
function isEquivalent(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b))
    return isFields(a) && isFields(b) ? haveEqualFields(a, b, isEquivalent) : a === b
  return a.length === b.length && (isEqual(a, b) || canonicalText(a) === canonicalText(b))
}
function haveEqualFields(a: Fields, b: Fields, isSame: typeof isEqual): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((n) => Object.hasOwn(b, n) && isSame(a[n], b[n]))
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The entries of an object by name. The canonical form has the same names. */
function fieldsOf({ written, canonical }: Value): Entries {
  const canonicalFields = new Map(Object.entries(canonical as Fields))
  return new Map(
    Object.entries(written as Fields).map(([name, value]) => [
      name,
      { written: value, canonical: canonicalFields.get(name) },
    ]),
  )
}

/** The entries of a part; undefined if they cannot be told apart. An absent part has none. */
function entriesOf(value: Value | undefined, key: 'id' | 'name' | null): Entries | undefined {
  if (value === undefined) return new Map()
  const { written, canonical } = value
  if (key === null) return isFields(written) ? fieldsOf(value) : undefined
  if (!Array.isArray(written)) return undefined
  const entries = new Map<string, Value>()
  for (const [i, item] of written.entries()) {
    const name: unknown = isFields(item) && Object.hasOwn(item, key) ? item[key] : undefined
    if (typeof name !== 'string' || entries.has(name)) return undefined
    entries.set(name, { written: item, canonical: (canonical as unknown[])[i] })
  }
  return entries
}
