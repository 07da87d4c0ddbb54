import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../../kernel/app-error.ts'
import { comparisons, type FilterValue, parseFilter, type ScimFilter } from './filter.ts'

const isInvalidFilter = (e: unknown) => e instanceof AppError && e.scimType === 'invalidFilter'

/** Writes a filter as a client might: with brackets only where needed, or everywhere. */
function print(f: ScimFilter, isCareful: boolean, inside: 'or' | 'and' | 'not' = 'or'): string {
  const grouped = (text: string, isNeeded: boolean) => (isNeeded || isCareful ? `(${text})` : text)
  switch (f.kind) {
    case 'or':
      return grouped(`${print(f.left, isCareful, 'or')} or ${print(f.right, isCareful, 'and')}`, inside !== 'or')
    case 'and':
      return grouped(`${print(f.left, isCareful, 'and')} AND ${print(f.right, isCareful, 'not')}`, inside === 'not')
    case 'not':
      return `not (${print(f.of, isCareful)})`
    case 'some':
      return `${f.path}[${print(f.of, isCareful)}]`
    case 'present':
      return `${f.path} pr`
    case 'compare':
      return `${f.path} ${f.op} ${JSON.stringify(f.value)}`
  }
}

const path = fc.constantFrom('userName', 'name.familyName', 'urn:ietf:params:scim:schemas:core:2.0:User:active', 'x-1')
const value: fc.Arbitrary<FilterValue> = fc.oneof(
  fc.string({ unit: 'grapheme' }).filter((s) => !s.includes('\0') && s.isWellFormed()),
  fc.constantFrom('and', '"', '\\', ')', ' or ', '] eq'),
  fc.boolean(),
  fc.constant(null),
  fc.integer(),
)
const { filter } = fc.letrec<{ filter: ScimFilter; leaf: ScimFilter }>((tie) => ({
  leaf: fc.oneof(
    fc.record({ kind: fc.constant('compare' as const), path, op: fc.constantFrom(...comparisons), value }),
    fc.record({ kind: fc.constant('present' as const), path }),
  ),
  filter: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'filter' },
    tie('leaf'),
    fc.record({ kind: fc.constantFrom('and' as const, 'or' as const), left: tie('filter'), right: tie('filter') }),
    fc.record({ kind: fc.constant('not' as const), of: tie('filter') }),
    fc.record({ kind: fc.constant('some' as const), path: fc.constant('emails'), of: tie('leaf') }),
  ),
}))

test('a printed filter is parsed back, with and without brackets', () => {
  fc.assert(
    fc.property(filter, fc.boolean(), (f, isCareful) => {
      assert.deepEqual(parseFilter(print(f, isCareful)), structuredClone(f))
    }),
    { numRuns: 500 },
  )
})

test('any text is parsed or refused as an invalid filter', () => {
  const pieces = fc.constantFrom(
    ...['userName', 'eq', 'not', 'and', 'or', 'pr', '(', ')', '[', ']', '"a"', '"', '\\', 'true', '-1.5e3', '.value'],
  )
  const texts = fc.oneof(
    fc.string({ maxLength: 60 }),
    fc.array(pieces, { maxLength: 12 }).map((all) => all.join(' ')),
    fc.array(pieces, { maxLength: 12 }).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      try {
        parseFilter(text)
      } catch (e) {
        assert.ok(isInvalidFilter(e), String(e))
      }
    }),
    { numRuns: 1000 },
  )
})

test('filters of Entra ID, Okta and RFC 7644 are parsed', () => {
  const eq = (at: string, its: FilterValue): ScimFilter => ({ kind: 'compare', path: at, op: 'eq', value: its })
  assert.deepEqual(parseFilter('userName Eq "bjensen"'), eq('userName', 'bjensen'))
  assert.deepEqual(parseFilter('emails[type eq "work"].value eq "a@b"'), {
    kind: 'some',
    path: 'emails',
    of: { kind: 'and', left: eq('type', 'work'), right: eq('value', 'a@b') },
  })
  assert.deepEqual(parseFilter('a eq 1 or b eq 2 and not (c pr)'), {
    kind: 'or',
    left: eq('a', 1),
    right: { kind: 'and', left: eq('b', 2), right: { kind: 'not', of: { kind: 'present', path: 'c' } } },
  })
  const urn = 'urn:ietf:params:scim:schemas:core:2.0:User:userName'
  assert.deepEqual(parseFilter(`${urn} sw "J"`), { kind: 'compare', path: urn, op: 'sw', value: 'J' })
  const wrong = [
    ...['', ' ', 'userName', 'userName eq', 'eq "a"', 'userName is "a"', 'userName eq a', "userName eq 'a'", '(a pr'],
    ...[
      'a pr)',
      'a pr b pr',
      'a[b pr',
      'a[b pr].c',
      'a eq "\\u0000"',
      'a eq "\\ud800"',
      'a eq "b',
      'a eq 01',
      'a . b pr',
    ],
    `${'('.repeat(30)}a pr${')'.repeat(30)}`,
    Array(60).fill('a pr').join(' and '),
    `a eq "${'x'.repeat(5000)}"`,
  ]
  for (const text of wrong) assert.throws(() => parseFilter(text), isInvalidFilter, text.slice(0, 60))
})
