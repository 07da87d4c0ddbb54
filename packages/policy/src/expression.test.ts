import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { evaluateExpression } from './evaluate.ts'
import { factsIn, parseExpression } from './expression.ts'
import { ExpressionError } from './lexer.ts'

const NOW = Date.parse('2027-01-04T12:00:00Z')
const evaluate = (text: string, facts: Record<string, unknown> = {}) =>
  evaluateExpression(parseExpression(text), facts, NOW).value

test('an expression is evaluated over facts', () => {
  const text = 'disk.encrypted && os.version >= "14.2" && (firewall.enabled || custom.exempt == true)'
  const facts = { 'disk.encrypted': true, 'os.version': '14.10', 'firewall.enabled': false, 'custom.exempt': true }
  assert.equal(evaluate(text, facts), true)
  assert.equal(evaluate(text, { ...facts, 'os.version': '14.1.9' }), false)
  assert.equal(evaluate(text, { ...facts, 'custom.exempt': false }), false)
  assert.deepEqual(factsIn(parseExpression(text)), [
    'custom.exempt',
    'disk.encrypted',
    'firewall.enabled',
    'os.version',
  ])
})

for (const [text, facts, expected] of [
  ['!disk.encrypted', {}, null],
  ['!disk.encrypted', { 'disk.encrypted': 'no' }, null],
  ['os.version < "9"', { 'os.version': 14 }, null],
  ['os.version != "9"', {}, null],
  ['a || b', { b: true }, true],
  ['a && b', { b: false }, false],
  ['a && b', { b: true }, null],
  ['os.type in ["macos", "linux"]', { 'os.type': 'linux' }, true],
  ['!(os.type in ["macos", "linux"])', {}, null],
  ['!(os.type in ["macos", "linux"])', { 'os.type': 'windows' }, true],
  ['"corp" in domain.names', { 'domain.names': ['home', 'corp'] }, true],
  ['!("corp" in domain.names)', { 'domain.names': 'corp' }, null],
  ['edr.score > 70.5', { 'edr.score': 71 }, true],
  ['edr.score > 70', { 'edr.score': Number.NaN }, null],
  ['within_last(av.updated_at, 86400)', { 'av.updated_at': '2027-01-04T11:00:00Z' }, true],
  ['within_last(av.updated_at, 86400)', { 'av.updated_at': '2027-01-02T11:00:00Z' }, false],
  ['within_last(av.updated_at, 86400)', { 'av.updated_at': NOW / 1_000 - 10 }, true],
  ['within_last(av.updated_at, 86400)', { 'av.updated_at': '2027-01-05T11:00:00Z' }, false],
  ['!within_last(av.updated_at, 86400)', { 'av.updated_at': 'May' }, null],
  ['constructor', {}, null],
  ['__proto__ == "x"', {}, null],
  ['name == "a\\"b\\\\"', { name: 'a"b\\' }, true],
] as const) {
  test(`${text} of ${JSON.stringify(facts)} is ${expected}`, () => assert.equal(evaluate(text, facts), expected))
}

test('a result that changes with time carries the time of the change', () => {
  const expression = parseExpression('within_last(a, 60) || within_last(b, 90)')
  const facts = { b: new Date(NOW - 30_000).toISOString() }
  const { value, until } = evaluateExpression(expression, facts, NOW)
  assert.equal(value, true)
  assert.equal(evaluateExpression(expression, facts, until - 1).value, true)
  assert.notEqual(evaluateExpression(expression, facts, until).value, true)
})

for (const [text, line, column] of [
  ['', 1, 1],
  ['a &&', 1, 5],
  ['a && (b', 1, 8],
  ['a\n  && & b', 2, 6],
  ['a == == b', 1, 6],
  ['1 == 2', 1, 1],
  ['"text"', 1, 1],
  ['os.version >= 14.2.1', 1, 15],
  ['a == "open', 1, 6],
  ['within_last(a, 0)', 1, 16],
  ['a in []', 1, 7],
  ['a..b', 1, 1],
  ['a == "\\n"', 1, 7],
  ['A', 1, 1],
  ['a b', 1, 3],
  [`${'!'.repeat(40)}a`, 1, 33],
  [`${'('.repeat(40)}a`, 1, 33],
] as const) {
  test(`${JSON.stringify(text).slice(0, 40)} is refused at ${line}:${column}`, () => {
    assert.throws(
      () => parseExpression(text),
      (error: unknown) => error instanceof ExpressionError && error.line === line && error.column === column,
    )
  })
}

const fact = fc.constantFrom('a', 'b', 'c.d')
const literal = fc.constantFrom('"x"', '"1.2"', '7', 'true')
const leaf = fc.oneof(
  fact,
  fc.tuple(fact, fc.constantFrom('==', '!=', '<', '<=', '>', '>='), literal).map((parts) => parts.join(' ')),
  fc.tuple(fact, literal).map(([f, l]) => `${f} in [${l}, 3]`),
  fc.tuple(literal, fact).map(([l, f]) => `${l} in ${f}`),
  fact.map((f) => `within_last(${f}, 60)`),
)
const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4 },
    leaf,
    tie('expression').map((e) => `!(${e})`),
    fc
      .tuple(tie('expression'), fc.constantFrom('&&', '||'), tie('expression'))
      .map(([l, op, r]) => `(${l}) ${op} (${r})`),
  ),
}))
const value = fc.oneof(
  fc.boolean(),
  fc.integer(),
  fc.constantFrom('x', '1.2', '1.10'),
  fc.constant(['x', 7]),
  fc.constant(null),
)
const facts = fc.dictionary(fact, value)

test('without facts no expression passes, negated or not', () => {
  fc.assert(
    fc.property(expression, (text) => {
      assert.equal(evaluate(text), null)
      assert.equal(evaluate(`!(${text})`), null)
    }),
  )
})

test('a known result stays the same when more facts arrive', () => {
  fc.assert(
    fc.property(expression, facts, facts, (text, some, more) => {
      const known = evaluate(text, some)
      if (known !== null) assert.equal(evaluate(text, { ...more, ...some }), known)
    }),
  )
})

test('any text is parsed, or refused with a position inside it', () => {
  const noise = fc.array(fc.constantFrom(...'ab.&|!=<>()[]",\\ \n019-_é'.split(''), 'within_last', ' in ', 'true'), {
    maxLength: 40,
  })
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        noise.map((parts) => parts.join('')),
        expression,
      ),
      (text) => {
        try {
          evaluateExpression(parseExpression(text), {}, NOW)
        } catch (error) {
          assert.ok(error instanceof ExpressionError, String(error))
          const line = text.split('\n')[error.line - 1]
          assert.ok(line !== undefined && error.column >= 1 && error.column <= line.length + 1)
        }
      },
    ),
    { numRuns: 1_000 },
  )
})
