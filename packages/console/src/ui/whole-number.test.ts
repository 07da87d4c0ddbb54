import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseWholeNumber } from './whole-number.ts'

test('a whole number is parsed, and a wrong text gets the rule as error', () => {
  assert.deepEqual(parseWholeNumber(' 1,500 ', { min: 1 }), { value: 1500, error: undefined })
  assert.deepEqual(parseWholeNumber('0', {}), { value: 0, error: undefined })
  assert.deepEqual(parseWholeNumber('', { optional: true }), { value: undefined, error: undefined })
  assert.equal(parseWholeNumber('', { min: 1, max: 5 }).error, 'Enter a whole number from 1 to 5.')
  assert.equal(parseWholeNumber('-1', { min: 1 }).error, '"-1" is not valid. Enter a whole number, at least 1.')
  assert.equal(parseWholeNumber('6', { max: 5 }).error, '"6" is not valid. Enter a whole number, at most 5.')
  for (const text of ['1.5', '1e3', 'ten', '12,34', '-', '9'.repeat(16)])
    assert.equal(parseWholeNumber(text, {}).value, undefined)
})
