import type { SubjectWord } from './policy-subjects.ts'

type Steps = readonly (string | number)[]
type Fields = Readonly<Record<string, unknown>>

/** A name that has another position in the canonical document than in the written one. */
type MovedName = { readonly canonical: Steps; readonly written: Steps }
type Canonical = {
  document: unknown
  moved: MovedName[]
  /** Positions of fields that are given in both forms. They stay as they are. */
  conflicts: Steps[]
}

const pluralOf = { user: 'users', group: 'groups', tag: 'tags', device: 'devices' } as const
const everyWord = Object.keys(pluralOf) as SubjectWord[]
const groupWords: readonly SubjectWord[] = ['user', 'group']

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Rewrites a policy document to its canonical form, which is stored and shown. Rules and groups have lists (`users`).
 * A test has `user`, `group`, `tag` and `device` for one name, and `groups` and `tags` for several. So a document that
 * was stored before the other forms existed does not change. A document that needs no change is returned as it is. A
 * value of another type stays, for the schema to refuse.
 *
 * @example
 * canonicalPolicy({ rules: [{ from: { user: 'ada' } }] }).document // { rules: [{ from: { users: ['ada'] } }] }
 */
export function canonicalPolicy(value: unknown): Canonical {
  const moved: MovedName[] = []
  const conflicts: Steps[] = []
  const rewrite = (rename: Rename, words: readonly SubjectWord[], named: unknown, at: Steps): unknown => {
    if (!isFields(named)) return named
    const fields = new Map<string, { name: string; value: unknown }>()
    for (const word of words) {
      const renamed = rename(word, named)
      if (Object.hasOwn(named, word) && Object.hasOwn(named, pluralOf[word])) conflicts.push([...at, word])
      else if (renamed) {
        fields.set(renamed.from, renamed)
        moved.push({ canonical: [...at, ...renamed.canonical], written: [...at, ...renamed.written] })
      }
    }
    if (fields.size === 0) return named
    return Object.fromEntries(
      Object.entries(named).map(([key, entry]) => {
        const renamed = fields.get(key)
        return renamed ? [renamed.name, renamed.value] : [key, entry]
      }),
    )
  }
  const listsOf = (named: unknown, at: Steps): unknown => rewrite(toList, everyWord, named, at)
  const ofRule = (rule: unknown, at: Steps): unknown =>
    withField(withField(rule, 'from', at, listsOf), 'except', at, listsOf)
  const ofTest = (test: unknown, at: Steps): unknown =>
    withField(test, 'from', at, (named, where) => rewrite(toOne, everyWord, named, where))

  let document = withField(value, 'groups', [], (groups, at) =>
    mapFields(groups, (group, name) => rewrite(toList, groupWords, group, [...at, name])),
  )
  document = withField(document, 'rules', [], (rules, at) => mapItems(rules, (rule, i) => ofRule(rule, [...at, i])))
  document = withField(document, 'tests', [], (tests, at) => mapItems(tests, (test, i) => ofTest(test, [...at, i])))
  return { document, moved, conflicts }
}

type Renamed = { from: string; name: string; value: unknown; canonical: Steps; written: Steps }
type Rename = (word: SubjectWord, named: Fields) => Renamed | undefined

/** `user: 'ada'` → `users: ['ada']` */
const toList: Rename = (word, named) => {
  const name = pluralOf[word]
  const value = Object.hasOwn(named, word) ? named[word] : undefined
  return typeof value === 'string'
    ? { from: word, name, value: [value], canonical: [name, 0], written: [word] }
    : undefined
}

/** `users: ['ada']` → `user: 'ada'`. A longer list stays. */
const toOne: Rename = (word, named) => {
  const from = pluralOf[word]
  const list = Object.hasOwn(named, from) ? named[from] : undefined
  return Array.isArray(list) && list.length === 1 && typeof list[0] === 'string'
    ? { from, name: word, value: list[0], canonical: [word], written: [from, 0] }
    : undefined
}

function withField(value: unknown, field: string, at: Steps, change: (value: unknown, at: Steps) => unknown): unknown {
  if (!isFields(value) || !Object.hasOwn(value, field)) return value
  const changed = change(value[field], [...at, field])
  return changed === value[field] ? value : { ...value, [field]: changed }
}

function mapFields(value: unknown, change: (entry: unknown, name: string) => unknown): unknown {
  if (!isFields(value)) return value
  const entries = Object.entries(value).map(([name, entry]) => [name, change(entry, name)] as const)
  return entries.every(([name, entry]) => entry === value[name]) ? value : Object.fromEntries(entries)
}

function mapItems(value: unknown, change: (item: unknown, i: number) => unknown): unknown {
  if (!Array.isArray(value)) return value
  const items = value.map(change)
  return items.every((item, i) => item === value[i]) ? value : items
}

/** Returns the names of one kind in the subjects of a canonical test. */
export const namesInTest = (
  from: { readonly [K in 'group' | 'tag']?: string } & { readonly [K in 'groups' | 'tags']?: readonly string[] },
  word: 'group' | 'tag',
): readonly string[] => {
  const name = from[word]
  return name === undefined ? (from[pluralOf[word]] ?? []) : [name]
}
