import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../kernel/app-error.ts'
import { maxDepth, readJson } from './read-json.ts'

const read = (text: string) => readJson(Buffer.from(text))
const refusal = (text: string | Buffer) => {
  try {
    readJson(Buffer.from(text))
    return 'accepted'
  } catch (e) {
    return e instanceof AppError ? `${e.code}: ${e.message}` : `threw ${e}`
  }
}

test('what JSON.stringify writes is read back, whatever it is', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8, noUnicodeString: false }), (value) => {
      const text = JSON.stringify(value)
      if (/\\u|"__proto__"|\d{16}/.test(text)) return
      assert.deepEqual(read(text), JSON.parse(text))
    }),
  )
})

test('anything at all is read or refused by name, never thrown as something else', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) =>
      assert.doesNotMatch(refusal(Buffer.from(bytes)), /^threw/),
    ),
  )
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0-1e. ') }), (s) =>
      assert.doesNotMatch(refusal(s), /^threw/),
    ),
  )
})

test('what the parser would hide is refused', () => {
  const cases: [body: string | Buffer, refusal: RegExp][] = [
    ['{"a":1,"a":2}', /^bad_request: the name "a" is given twice/],
    ['{"a":1,"\\u0061":2}', /^bad_request: the name "a" is given twice/],
    ['[{"b":{"c":1,"c":1}}]', /^bad_request: the name "c" is given twice/],
    ['{"__proto__":{}}', /^bad_request: the name __proto__/],
    ['{"\\u005f_proto__":{}}', /^bad_request: the name __proto__/],
    ['{"a":"x\\u0000y"}', /^validation_error: .*NUL/],
    ['{"a\\u0000":1}', /^validation_error: .*NUL/],
    ['{"a":9007199254740993}', /^validation_error: the number 9007199254740993/],
    ['{"a":-90071992547409931}', /^validation_error: the number/],
    [Buffer.from([0x22, 0xff, 0x22]), /^bad_request: the body is not valid UTF-8/],
    [Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]), /^bad_request/],
    ['{"a":1', /^bad_request: the body is not valid JSON/],
    ["{'a':1}", /^bad_request: the body is not valid JSON/],
    ['NaN', /^bad_request: the body is not valid JSON/],
    [`${'['.repeat(10_000)}${']'.repeat(10_000)}`, /^bad_request: the body is nested deeper/],
  ]
  for (const [body, expected] of cases) assert.match(refusal(body), expected)
})

test('equal names in different objects, escaped backslashes before u0000 and deep enough bodies are fine', () => {
  assert.deepEqual(read('[{"a":1},{"a":2},{"b":{"a":"}{\\"a"}}]'), [{ a: 1 }, { a: 2 }, { b: { a: '}{"a' } }])
  assert.deepEqual(read('{"a":"\\\\u0000"}'), { a: '\\u0000' })
  assert.equal(refusal(`${'['.repeat(maxDepth)}${']'.repeat(maxDepth)}`), 'accepted')
  assert.match(refusal(`${'['.repeat(maxDepth + 1)}${']'.repeat(maxDepth + 1)}`), /nested deeper/)
})

test('what the longest lists of a schema need passes, and much more does not', () => {
  const members = Array.from({ length: 10_000 }, (_, i) => `usr_${i}`)
  const most = JSON.stringify({ group: { members, add_members: members, remove_members: members } })
  assert.equal(refusal(most), 'accepted')
  assert.match(refusal(`[${Array(50_000).fill(1).join()}]`), /^bad_request: the body has more than 40000 values/)
  assert.match(refusal(JSON.stringify({ a: 'x'.repeat(40_000) })), /^validation_error: a text is longer/)
  const wide = Object.fromEntries(Array.from({ length: 2001 }, (_, i) => [`k${i}`, i]))
  assert.match(refusal(JSON.stringify(wide)), /^bad_request: the body has more than 2000 names/)
})
