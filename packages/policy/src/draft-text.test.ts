import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readDocumentText } from './draft-text.ts'

const faultOf = (text: string): string => {
  const read = readDocumentText(text)
  if (!('fault' in read)) return 'no fault'
  const { line, column, message } = read.fault
  return `${line}:${column} ${message}`
}

test('a text that JSON.parse reads as an object is read with the same value, and every other text has a fault', () => {
  const json = fc.oneof(
    fc.json(),
    fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value, null, 2)),
  )
  const broken = fc
    .tuple(json, fc.nat(), fc.constantFrom('', ',', '{', '}', '"', '\\', '\n', '0', '-', 'x', ':', '[', ']'))
    .map(([text, n, c]) => `${text.slice(0, n % (text.length + 1))}${c}${text.slice((n % (text.length + 1)) + 1)}`)
  let objects = 0
  fc.assert(
    fc.property(fc.oneof(json, broken), (text) => {
      let expected: unknown
      try {
        expected = JSON.parse(text)
      } catch {}
      const isObject = typeof expected === 'object' && expected !== null && !Array.isArray(expected)
      const read = readDocumentText(text)
      if ('document' in read) {
        objects++
        assert.deepEqual(read.document, expected)
      } else if (isObject) assert.match(read.fault.message, /twice|too many digits|nested deeper/)
      else assert.ok(read.fault.line >= 1 && read.fault.column >= 1)
    }),
    { numRuns: 3000 },
  )
  assert.ok(objects > 300, `${objects}`)
})

test('a fault names its line and column', () => {
  const faults: Record<string, string> = {
    '': '1:1 the document is not a JSON object: begin with {',
    '[]': '1:1 the document is not a JSON object: begin with {',
    '{}x': '1:3 there is text after the end of the document',
    '{\n  "rules": [\n    {"id": "a"}\n    {"id": "b"}\n  ]\n}': '4:5 a comma or ] is expected here',
    '{"rules": [1,]}': '1:14 a value is expected here',
    '{"rules": [': '1:12 the text ends too early',
    '{rules: []}': '1:2 a name in double quotes is expected here',
    '{"rules" []}': '1:10 a colon is expected here',
    '{"a": "b\n"}': '1:9 a text has a line break or a control character; write \\n or close the quote',
    '{"a": "b': '1:7 the closing quote is missing',
    '{"a": "\\x"}': '1:8 a backslash is followed by an unknown escape; write \\\\ for a backslash',
    '{"a": -}': '1:7 the number is not complete',
    '{"a": 01}': '1:8 a comma or } is expected here',
    '\ufeff{"a": 1, "a": 2}': '1:11 the object has the name "a" twice; keep one of them',
    '{"a": {"\\u0061": 1, "a": 2}}': '1:21 the object has the name "a" twice; keep one of them',
    '{"a": 9007199254740993}': '1:7 the number has too many digits, so it would change',
    '{"a": 1e999}': '1:7 the number has too many digits, so it would change',
  }
  assert.deepEqual(Object.fromEntries(Object.keys(faults).map((text) => [text, faultOf(text)])), faults)
  assert.match(
    faultOf(`{"a": ${'['.repeat(40)}${']'.repeat(40)}}`),
    /^1:38 the document is nested deeper than 32 levels/,
  )
})

test('a text of 1 MiB is read', () => {
  assert.match(faultOf('{"a":"'.repeat(100_000)), /^1:/)
  assert.equal(faultOf(`{"a": "${'x'.repeat(1024 * 1024)}`), '1:7 the closing quote is missing')
  assert.equal(faultOf(`{"a": "${'\\n'.repeat(500_000)}"}`), 'no fault')
})
