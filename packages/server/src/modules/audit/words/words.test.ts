import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson } from '@holdfast/crypto'
import { anyText } from '@holdfast/crypto/test/any-text'
import fc from 'fast-check'
import { patternOf, wordsOf, wordsOfRecord, wordsOnce } from './words.ts'

/** Texts similar to those in audit events, and arbitrary ones. */
const text = fc
  .oneof(
    anyText({ maxLength: 20 }),
    fc.array(
      fc.constantFrom('needle', 'a', '0', ' ', ',', '\\', '"', '\n', '\u001b', '.', '_', '%', 'ë', 'Σ', '😀', '\\n'),
      {
        maxLength: 8,
      },
    ),
  )
  .map((t) => (typeof t === 'string' ? t : t.join('')).toWellFormed().replaceAll('\0', ''))

test('the words of a record are those of its texts, with any JSON escapes', () => {
  fc.assert(
    fc.property(fc.dictionary(text, text), (event) => {
      const expected = new Set(Object.entries(event).flatMap((pair) => pair.flatMap(wordsOf)))
      assert.deepEqual(new Set(wordsOfRecord(canonicalJson(event))), expected)
    }),
    { numRuns: 1000 },
  )
})

test('records processed together have the same words as one by one', () => {
  fc.assert(
    fc.property(fc.array(fc.dictionary(fc.constantFrom('a,b', 'c"', 'd'), text)), (events) => {
      const records = events.map(canonicalJson)
      const words = new Set<string>()
      records.forEach(wordsOnce(words))
      assert.deepEqual(words, new Set(records.flatMap(wordsOfRecord)))
    }),
  )
})

test('a record that matches a pattern contains every word of the term', () => {
  fc.assert(
    fc.property(text, text, text, (before, term, after) => {
      fc.pre(wordsOf(term).length > 0 && !/\s/.test(term))
      const record = canonicalJson({ note: before + term + after })
      // The used classes and escapes mean the same in both dialects.
      const isFound = new RegExp(patternOf(term), 'i').test(record)
      const words = new Set(wordsOfRecord(record))
      if (isFound) for (const word of wordsOf(term)) assert.ok(words.has(word), `${word} in ${record}`)
      assert.ok(new RegExp(patternOf(term), 'i').test(canonicalJson({ note: ` ${term} ` })), 'alone, it is found')
    }),
    { numRuns: 1000, examples: [['', 'aΣ', '.a']] },
  )
})
