import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDatabase } from '../support/database/test-database.ts'
import { endFirstStarts, makeSecrets, startOnce } from './starts.ts'

test('a first start interrupted at some of its statements is completed by the next one', (t) =>
  endFirstStarts(t, { from: 10, step: 250 }))

test('three concurrent first starts agree on one tenant and one administrator', async (t) => {
  const database = await createTestDatabase()
  t.after(database.drop)
  const secrets = makeSecrets()
  const announced = await Promise.all([1, 2, 3].map(() => startOnce(database.url, secrets)))
  assert.ok(announced.flat().length >= 1)
  console.log('# three first starts at once: 3 of 3 came up')
})
