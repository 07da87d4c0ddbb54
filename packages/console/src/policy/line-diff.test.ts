import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diffLines, type Line } from './line-diff.ts'

const textOf = (line: Line) => (line.kind === 'skip' ? '' : line.pieces.map(({ text }) => text).join(''))
const at = (text: string) => ({ text, line: 1 })

test('changed lines mark their words, and count on from the given line', () => {
  const lines = diffLines({ text: 'same\nage: 12', line: 40 }, { text: 'same\nage: 8', line: 50 })
  assert.deepEqual(lines[0], { kind: 'same', before: 40, after: 50, pieces: [{ text: 'same', isMarked: false }] })
  const marked = (line: Line) => line.kind !== 'skip' && line.pieces.filter((p) => p.isMarked).map(({ text }) => text)
  assert.deepEqual(
    lines.slice(1).map((line) => [line.kind, marked(line)]),
    [
      ['del', ['12']],
      ['add', ['8']],
    ],
  )
})

test('unchanged lines far from a change are counted', () => {
  const before = Array.from({ length: 20 }, (_, i) => `line ${i}`)
  const lines = diffLines(at(before.join('\n')), at(before.with(10, 'other').join('\n')), 2)
  assert.deepEqual(
    lines.map((line) => (line.kind === 'skip' ? line.count : line.kind)),
    [8, 'same', 'same', 'del', 'add', 'same', 'same', 7],
  )
})

test('both texts can be read from the lines', () => {
  const texts = fc.array(fc.constantFrom('a', 'b', 'c', 'd e', 'd f')).map((lines) => lines.join('\n'))
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const lines = diffLines(at(before), at(after))
      const side = (kind: 'add' | 'del') => lines.filter((line) => line.kind === 'same' || line.kind === kind)
      assert.equal(side('del').map(textOf).join('\n'), before)
      assert.equal(side('add').map(textOf).join('\n'), after)
    }),
  )
})

test('large documents without a common line are compared in bounded time', () => {
  const lines = (word: string) => Array.from({ length: 30_000 }, (_, i) => `${word} ${i}`).join('\n')
  assert.equal(diffLines(at(lines('a')), at(lines('b')), 3).length, 60_000)
})
