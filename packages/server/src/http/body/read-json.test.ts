import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../kernel/app-error.ts'
import { createSlices } from '../../kernel/time-slice.ts'
import { maxDepth, stepLength } from './json-text.ts'
import { readJson, readLong } from './read-json.ts'

const read = (text: string) => readJson(Buffer.from(text))
const refusal = (text: string | Buffer) => {
  try {
    readJson(Buffer.from(text))
    return 'accepted'
  } catch (e) {
    return e instanceof AppError ? `${e.code}: ${e.message}` : `threw ${e}`
  }
}

/** Half of the characters are ASCII. */
const character = fc
  .oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code))

test('every output of JSON.stringify is read back', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8, stringUnit: character }), (value) => {
      const text = JSON.stringify(value)
      if (/\\u|"__proto__"|\d{16}/.test(text)) return
      assert.deepEqual(read(text), JSON.parse(text))
    }),
  )
})

test('any bytes are read, or refused with a named error', () => {
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

test('duplicate names, __proto__, NUL and inexact numbers are refused', () => {
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

test('hidden values are refused at every position of a long body', () => {
  const hidden: [text: string, refusal: RegExp][] = [
    ['{"a":1,"\\u0061":2}', /"a" is given twice/],
    ['{"__proto__":1}', /__proto__/],
    ['"\\u0000"', /NUL/],
    ['9007199254740993', /9007199254740993/],
  ]
  for (const [text, expected] of hidden)
    for (let before = stepLength - 2 * text.length; before < stepLength + 3; before++)
      assert.match(refusal(`[${' '.repeat(before)}${text}]`), expected, `${text} at ${before}`)
})

/** JSON in free formatting, with input that parsing hides. */
const written = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      '1',
      '"a"',
      'null',
      '[]',
      '{}',
      '"9007199254740993"',
      '-900719925474099',
      '9007199254740993',
      '1.12345678901234567',
    ),
    fc.array(tie('value'), { maxLength: 3 }).map((values) => `[${values.join()}]`),
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', '1', '__proto__'), tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`).join()}}`),
  ),
})).value

test('the fast check and the full walk give the same result', () => {
  fc.assert(
    fc.property(written, (text) => assert.equal(refusal(text), refusal(`[${text},"\\u0041"]`))),
    { numRuns: 2000 },
  )
})

test('equal names in different objects, escaped backslashes and nesting up to the limit are accepted', () => {
  assert.deepEqual(read('[{"a":1},{"a":2},{"b":{"a":"}{\\"a"}}]'), [{ a: 1 }, { a: 2 }, { b: { a: '}{"a' } }])
  assert.deepEqual(read('{"a":"\\\\u0000"}'), { a: '\\u0000' })
  assert.equal(refusal(`${'['.repeat(maxDepth)}${']'.repeat(maxDepth)}`), 'accepted')
  assert.match(refusal(`${'['.repeat(maxDepth + 1)}${']'.repeat(maxDepth + 1)}`), /nested deeper/)
})

test('the longest lists of the schemas are accepted, and much longer bodies are refused', () => {
  const members = Array.from({ length: 10_000 }, (_, i) => `usr_${i}`)
  const most = JSON.stringify({ group: { members, add_members: members, remove_members: members } })
  assert.equal(refusal(most), 'accepted')
  assert.match(refusal(`[${Array(50_000).fill(1).join()}]`), /^bad_request: the body has more than 40000 values/)
  assert.match(refusal(JSON.stringify({ a: 'x'.repeat(40_000) })), /^validation_error: a string is longer/)
  const wide = Object.fromEntries(Array.from({ length: 2001 }, (_, i) => [`k${i}`, i]))
  assert.match(refusal(JSON.stringify(wide)), /^bad_request: the body has more than 2000 names/)
})

/** Nested lists and objects around `inner`, some longer than a step of the reader. */
function long(inner: string): string {
  const list = (n: number) => JSON.stringify(Array.from({ length: n }, (_, i) => `${'x'.repeat(i % 300)}é`))
  const deep = `[[],{"more":[${list(800)}, ${list(2)},${inner}\n]}]`
  return `\t {"a": ${list(900)},"small":{"b":[1,{"c":[]}]} ,"deep":${deep}}\n`
}

/** Checks that the long reader returns the same value or the same error as the short one. */
async function same(text: string | Buffer): Promise<string> {
  const outcome = async (read: () => unknown) => {
    try {
      return JSON.stringify(await read())
    } catch (e) {
      return e instanceof AppError ? `${e.code}: ${e.message}` : assert.fail(`threw ${e}`)
    }
  }
  const bytes = Buffer.from(text)
  const seen = await outcome(() => readLong(bytes))
  assert.equal(seen, await outcome(() => readJson(bytes)), text.toString().replaceAll(/(.)\1{3,}/g, '$1'))
  return seen
}

test('a long body is read and refused like a short one', async () => {
  const space = ' '.repeat(70_000)
  for (const fine of [
    '1',
    '{}',
    '[]',
    '{"d":1,"e":2}',
    `[${space}]`,
    `{"f":{${space}}}`,
    `[1,${space}2]`,
    `"x",${space}3`,
  ])
    assert.match(await same(long(fine)), /^\{"a":/, fine.slice(0, 20))
  assert.match(await same(`[${long('1')},${long('{}')}]`), /^\[/)
  assert.equal(await same(`${space}3`), '3')
  assert.match(await same(`[[${space}],]`), /not valid JSON/, 'a comma behind what is long')
  for (const [inner, refusal] of [
    ['{"d":1,"d":2}', /given twice/],
    [`{"d":[1,${space}2],"d":[1,${space}2]}`, /given twice/],
    [`{"__proto__":[1,${space}2]}`, /__proto__/],
    ['"\\u0000"', /NUL/],
    ['"\\ud800"', /surrogate/],
    ['9007199254740993', /exact integers/],
    ['NaN', /not valid JSON/],
  ] as const)
    assert.match(await same(long(inner)), refusal)
  const bytes = Buffer.from(long('"?"'))
  bytes[bytes.lastIndexOf('?')] = 0xff
  assert.match(await same(bytes), /UTF-8/)

  // Replaces or removes structural characters of the lists, and the text around them.
  const text = long('{"d":1}')
  const marks = Array.from(text.matchAll(/(?<!")[[\]{}:,]|,(?="(?:small|deep)")|"more"/g), (m) => m.index)
  const others = ['', ',', ':', '[', ']', '{', '}', ',,', ',1', '""', '"g":', '-']
  // Each mark is replaced by some of these, and each of these replaces several marks.
  for (const [i, at] of [...marks.slice(0, 3), ...marks.slice(-16)].entries())
    for (const instead of others.filter((_, nth) => (nth + i) % 3 === 0))
      await same(text.slice(0, at) + instead + text.slice(at + 1))
  for (const [before, after] of [
    ['1,', ''],
    ['', ',1'],
    ['', ' 1'],
    ['[', ''],
    ['', ']'],
    ['-', ''],
    ['', '}'],
  ])
    await same(before + text + after)
})

test('any long body is read like a short one', async () => {
  // Texts and blanks that make some of the enclosing values longer than a step, at any position.
  const leaf = fc.oneof(
    fc.constantFrom('1', '-0.5e3', 'true', 'null', '""', '"}{][,:\\\\\\""', '[]', '{}'),
    fc.integer({ min: 1, max: 4 }).map((n) => `"${'x'.repeat(n * 8000)}"`),
    fc.integer({ min: 1, max: 3 }).map((n) => `[${'7, '.repeat(n * 4000)}7]`),
  )
  const blank = fc.oneof({ weight: 9, arbitrary: fc.constantFrom('', ' ', '\n\t') }, fc.constant(' '.repeat(70_000)))
  const { value } = fc.letrec<{ value: string; inner: string }>((tie) => ({
    inner: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('value')),
    value: fc.oneof(
      fc
        .array(fc.tuple(blank, tie('inner'), blank), { maxLength: 6 })
        .map((of) => `[${of.map((part) => part.join('')).join(',')}]`),
      fc
        .array(fc.tuple(fc.constantFrom('"a"', '"b"', '"\\u0062"', '"toString"'), blank, tie('inner'), blank), {
          maxLength: 4,
        })
        .map((of) => `{${of.map(([name, before, inner, after]) => `${name}:${before}${inner}${after}`).join(',')}}`),
    ),
  }))
  const instead = fc.constantFrom('', ',', ':', '[', ']', '{', '}', '"', '\\', '1', ' ', ',,', '[]', '"":1')
  const change = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), instead)
  await fc.assert(
    fc.asyncProperty(value, fc.array(change, { maxLength: 2 }), async (text, changes) => {
      // Changes only the structural characters of the text.
      const marks = Array.from(text.matchAll(/[^7x, ]|,(?! 7)/g), (m) => m.index)
      const changed = changes.reduce((t, [where, by]) => {
        const at = marks[Math.floor(where * (marks.length - 1))] ?? 0
        return t.slice(0, at) + by + t.slice(at + 1)
      }, text)
      await same(changed)
    }),
    { numRuns: 20 },
  )
})

test('reading a long body leaves turns of the event loop to others', async () => {
  let turns = 0
  const turn = () => {
    turns++
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  await readLong(Buffer.from(long('1')), {}, createSlices(0))
  clearImmediate(next)
  assert.ok(turns > 9, `${turns}`)
})
