import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract, operations } from '@holdfast/contract'
import { exampleBody } from '../../../test/support/actors/all-callers.ts'
import { AppError } from '../../kernel/app-error.ts'
import { createSlices } from '../../kernel/time-slice.ts'
import { createLongValidator, createValidator } from './validate.ts'

/** Yields copies of a value with another value at each position. */
function* changes(value: unknown): Generator<unknown> {
  for (const instead of [null, 5, 'x', '', [], {}, { unknown: 1 }, [null]]) yield instead
  if (Array.isArray(value)) {
    yield [...value, ...value]
    for (const [i, item] of value.entries()) for (const other of changes(item)) yield value.with(i, other)
  } else if (typeof value === 'object' && value !== null) {
    yield { ...value, unknown: 1 }
    for (const [name, item] of Object.entries(value)) {
      yield Object.fromEntries(Object.entries(value).filter(([other]) => other !== name))
      for (const other of changes(item)) yield { ...value, [name]: other }
    }
  }
}

test('a long body is judged as a short one is, in the same words', async () => {
  const outcome = async (check: () => unknown) => {
    try {
      await check()
      return 'fits'
    } catch (e) {
      if (!(e instanceof AppError)) throw e
      return { code: e.code, message: e.message, errors: e.errors }
    }
  }
  let refused = 0
  for (const [name, { body, bodyLimit }] of operations) {
    if (!body || bodyLimit === undefined) continue
    const [short, long] = [createValidator(body), createLongValidator(body)]
    const example = exampleBody(name, {})
    for (const value of [example, ...changes(example)]) {
      const expected = await outcome(() => short(value))
      assert.deepEqual(await outcome(() => long(value, createSlices(0))), expected, JSON.stringify(value))
      if (expected !== 'fits') refused++
    }
  }
  assert.ok(refused > 100)
})

test('a time or a version that is none is refused with a value that is one', () => {
  const check = createValidator(contract.listDevices.query)
  const refuses = (query: object, message: RegExp) => assert.throws(() => check(query), message)
  refuses({ seen_within: 'yesterday' }, /seen_within: must be a number of seconds, or an RFC 3339 time/)
  refuses({ client_version_before: 'two' }, /client_version_before: must be a version such as 1\.4\.0/)
})
