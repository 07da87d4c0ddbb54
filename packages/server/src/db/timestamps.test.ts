import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { readTimestamp } from './timestamps.ts'

const slow = pg.types.getTypeParser(1184, 'text') as (text: string) => unknown

test('a timestamp is parsed as by the library, in every spelling', () => {
  const date = fc.date({
    noInvalidDate: true,
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
  })
  const fraction = fc.stringMatching(/^[0-9]{1,6}$/)
  fc.assert(
    fc.property(date, fc.option(fraction), (at, part) => {
      const seconds = at.toISOString().slice(0, 19).replace('T', ' ')
      const text = `${seconds}${part === null ? '' : `.${part}`}+00`
      assert.deepEqual(readTimestamp(text), slow(text), text)
    }),
  )
  for (const text of [
    'infinity',
    '-infinity',
    '12026-01-01 00:00:00+00',
    '2026-11-22 08:25:33.1+05:30',
    '0044-03-15 00:00:00+00 BC',
    '1969-12-31 23:59:59.999999+00',
  ])
    assert.deepEqual(readTimestamp(text), slow(text), text)
})
