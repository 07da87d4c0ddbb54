import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { counter, expose, gaugesBy } from './exposition.ts'

test('a metric has its help, its type and a line for each value', () => {
  const text = expose([
    counter('a_total', 'How many\nwith \\ in it.', 3),
    gaugesBy('b', 'By word.', 'word', { x: 1.5 }),
  ])
  assert.equal(
    text,
    '# HELP a_total How many\\nwith \\\\ in it.\n# TYPE a_total counter\na_total 3\n' +
      '# HELP b By word.\n# TYPE b gauge\nb{word="x"} 1.5\n',
  )
})

test('any label value is escaped within one line', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', '\\', '\n', 'n', 'x', '}') }), (text) => {
      const [, , line, end, ...more] = expose([gaugesBy('b', 'By word.', 'word', { [`${text}!`]: 1 })]).split('\n')
      const [, shown = ''] = /^b\{word="((?:[^"\\]|\\["\\n])*)"\} 1$/.exec(line ?? '') ?? assert.fail(line)
      assert.equal(
        shown.replaceAll(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c)),
        `${text}!`,
      )
      assert.deepEqual([end, more], ['', []])
    }),
  )
})
