import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenParsers } from './parsers.ts'
import { everyParser } from './parsers-server.ts'

test('every parser reads each of 4,000 mutants of valid input, or refuses it with its own error', async () => {
  assert.deepEqual(await brokenParsers(await everyParser(), 4000), [])
})
