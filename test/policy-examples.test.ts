import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PolicyDocument } from '../packages/contract/src/policy-document.ts'
import { compilePolicy, type ResolvedPolicy, runPolicyTests } from '../packages/policy/src/index.ts'
import { resolve } from '../packages/policy/test/support/policies.ts'

const folder = join(import.meta.dirname, '../docs/policy')
const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const examples = globSync('examples/*.json', { cwd: folder }).sort()
const pages = globSync('*.md', { cwd: folder }).sort()
const now = Date.parse('2027-01-04T12:00:00Z')

/** Example documents are checked in a directory that has every name, and whose users are in no directory group. */
const parse = (file: string) => resolve(JSON.parse(read(file)))
const failuresOf = (resolved: ResolvedPolicy) =>
  runPolicyTests(compilePolicy(resolved), resolved.document.tests ?? [], {
    groupsOfUser: () => [],
    now,
  }).results.flatMap(({ name, failures }) =>
    failures.map(({ target, got, reason }) => `${name}: ${target}: ${got} (${reason})`),
  )

for (const file of examples) {
  test(`${file}: its tests pass, and expect both answers`, () => {
    const resolved = parse(file)
    assert.deepEqual(failuresOf(resolved), [])
    const tests = resolved.document.tests ?? []
    for (const list of ['allow', 'deny'] as const)
      assert.ok(
        tests.some((one) => (one[list] ?? []).length > 0),
        list,
      )
  })
  test(`${file}: without any one of its rules a test fails`, () => {
    const resolved = parse(file)
    const { rules } = resolved.document
    const idle = rules.filter((rule) => {
      const document = { ...resolved.document, rules: rules.filter((other) => other !== rule) }
      return failuresOf({ ...resolved, document }).length === 0
    })
    assert.deepEqual(
      idle.map(({ id }) => id),
      [],
    )
  })
}

/** A block of a page: ```` ```json from=examples/x.json#/rules/0 ````. Without a pointer it is the whole file. */
const block = /^```json ?([^\n]*)\n([\s\S]*?)^```$/gm
const at = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce((part, key) => (part as Record<string, unknown>)[key], value)

test('every JSON block of a page is an example file or a part of one, and every example is on a page', () => {
  const shown = new Set<string>()
  for (const page of pages) {
    for (const [, info = '', body = ''] of read(page).matchAll(block)) {
      const [, file = '', pointer = ''] = /\bfrom=([^\s#]+)#?(\S*)/.exec(info) ?? assert.fail(`${page}: ${body}`)
      shown.add(file)
      assert.deepEqual(JSON.parse(body), at(JSON.parse(read(file)), pointer), `${page}: ${file}#${pointer}`)
    }
    for (const [, file = ''] of read(page).matchAll(/\]\((examples\/[^)]+)\)/g)) shown.add(file)
  }
  assert.deepEqual([...shown].sort(), examples)
})

type Schema = {
  readonly [limit: string]: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}
/** Returns every field of a schema by its path, such as `rules[].from.users` and `groups.*`. */
function fieldsOf(schema: Schema, path: string): [string, Schema][] {
  const named = Object.entries(schema.properties ?? {}).map(
    ([name, s]) => [path ? `${path}.${name}` : name, s] as const,
  )
  const any = Object.values(schema.patternProperties ?? {}).map((s) => [`${path}.*`, s] as const)
  const own = [...named, ...any].flatMap(([at, s]): [string, Schema][] => [[at, s], ...fieldsOf(s, at)])
  return schema.items ? [...own, ...fieldsOf(schema.items, `${path}[]`)] : own
}

/** Rows of the tables of the reference, by each field of the first cell. */
const rows = new Map(
  pages
    .filter((page) => page.startsWith('reference'))
    .flatMap((page) => read(page).split('\n'))
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) =>
      Array.from((line.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g), ([, name = '']) => [name, line]),
    ),
)
const limits = ['minimum', 'maximum', 'maxItems', 'maxProperties', 'maxLength']

test('the reference has a row for every field of the schema, with its limits and values', () => {
  const fields = fieldsOf(PolicyDocument as unknown as Schema, '')
  assert.ok(fields.length > 80)
  const missing = fields.flatMap(([path, schema]) => {
    const row = rows.get(path)
    if (row === undefined) return [`${path}: no row`]
    const { items } = schema
    const numbers = limits.flatMap((name) => [schema[name], items?.[name]]).filter((n) => typeof n === 'number')
    const texts = [schema, items].flatMap((s) => (s?.enum as string[] | undefined) ?? [])
    return [...numbers.map((n) => n.toLocaleString('en')), ...texts.map((text) => `\`${text}\``)]
      .filter((text) => !row.includes(text))
      .map((text) => `${path}: the row lacks ${text}`)
  })
  assert.deepEqual(missing, [])
  const known = new Set(fields.map(([path]) => path))
  const ours = /^(groups|hosts|resources|posture_checks|rules|settings|tests)[.[]/
  const idle = [...rows.keys()].filter((path) => ours.test(path) && !known.has(path))
  assert.deepEqual(idle, [], 'rows about fields that the schema does not have')
})

test('a page has at most 200 lines', () => {
  const long = pages.filter((page) => read(page).split('\n').length - 1 > 200)
  assert.deepEqual(long, [])
})
