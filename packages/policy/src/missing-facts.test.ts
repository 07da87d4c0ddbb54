import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factTypes } from '@holdfast/contract/posture-facts'
import fc from 'fast-check'
import { evaluateExpression } from './evaluate.ts'
import { factsIn, parseExpression } from './expression.ts'

const now = Date.parse('2027-01-04T12:00:00Z')
const names = [...factTypes.keys(), 'custom.own']
const fact = fc.constantFrom(...names)
const literal = fc.oneof(
  fc.constantFrom('"14.2"', '"linux"', '""', '"2027-01-04T11:59:00Z"', 'true', 'false'),
  fc.integer({ min: 0, max: 100 }).map(String),
)
/** Each operator of the language, with its operands. */
const operators = {
  fact: fact,
  '==': fc.tuple(fact, literal).map(([f, l]) => `${f} == ${l}`),
  '!=': fc.tuple(fact, literal).map(([f, l]) => `${l} != ${f}`),
  '<': fc.tuple(fact, literal).map(([f, l]) => `${f} < ${l}`),
  '<=': fc.tuple(fact, fact).map(([f, g]) => `${f} <= ${g}`),
  '>': fc.tuple(fact, literal).map(([f, l]) => `${l} > ${f}`),
  '>=': fc.tuple(fact, literal).map(([f, l]) => `${f} >= ${l}`),
  one_of: fc
    .tuple(fact, fc.array(literal, { minLength: 1, maxLength: 3 }))
    .map(([f, l]) => `${f} in [${l.join(', ')}]`),
  contains: fc.tuple(fact, literal).map(([f, l]) => `${l} in ${f}`),
  within_last: fact.map((f) => `within_last(${f}, 3600)`),
}
const leaf = fc.oneof(...Object.values(operators))
const expression = fc.letrec<{ e: string }>((tie) => ({
  e: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    tie('e').map((e) => `!(${e})`),
    fc.tuple(tie('e'), tie('e')).map(([a, b]) => `(${a} && ${b})`),
    fc.tuple(tie('e'), tie('e')).map(([a, b]) => `(${a} || ${b})`),
  ),
})).e
const value = fc.oneof(
  fc.boolean(),
  fc.integer({ min: 0, max: 100 }),
  fc.constantFrom('14.2', '15', 'linux', '', '2027-01-04T11:59:00Z'),
  fc.array(fc.constantFrom('linux', '14.2'), { maxLength: 2 }),
)
const of = (text: string, facts: Record<string, unknown>) => evaluateExpression(parseExpression(text), facts, now).value

for (const [name, made] of Object.entries(operators))
  test(`absence never passes: ${name}, negated or not`, () =>
    fc.assert(
      fc.property(made, (text) => {
        for (const each of [text, `!(${text})`, `!(!(${text}))`]) assert.equal(of(each, {}), null, each)
      }),
    ))

test('an expression over missing facts is unknown, with any operators', () =>
  fc.assert(
    fc.property(expression, (text) => assert.equal(of(text, {}), null)),
    { numRuns: 2000 },
  ))

test('removing facts leaves an outcome unchanged or makes it unknown', () =>
  fc.assert(
    fc.property(expression, fc.array(value, { minLength: 8, maxLength: 8 }), fc.nat(255), (text, values, left) => {
      const read = factsIn(parseExpression(text))
      const all = Object.fromEntries(read.map((name, i) => [name, values[i % values.length]]))
      const some = Object.fromEntries(Object.entries(all).filter((_, i) => (left >> (i % 8)) & 1))
      const less = of(text, some)
      assert.ok(less === null || less === of(text, all), `${text} of ${JSON.stringify(some)}`)
    }),
    { numRuns: 2000 },
  ))
