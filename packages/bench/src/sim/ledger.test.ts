import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, ConnectionError } from '@holdfast/sdk'
import { createLedger } from './ledger.ts'

test('the ledger reports a write as lost only if it was acknowledged', async () => {
  const ledger = createLedger()
  await ledger.run('publish', 'kept', async () => 'pol_1')
  await ledger.run('publish', 'gone', async () => 'pol_2')
  await ledger.run('publish', 'no answer', () => Promise.reject(new ConnectionError('broken off')))
  await ledger.run('publish', 'no answer, but done', () => Promise.reject(new ConnectionError('broken off')))
  const there = new Set(['kept', 'no answer, but done'])
  const publish = ledger.tally(({ marker }) => there.has(marker)).find(({ kind }) => kind === 'publish')
  assert.deepEqual(publish, {
    kind: 'publish',
    acknowledged: 2,
    present: 1,
    lost: ['gone (pol_2)'],
    unknown: 2,
    unknownPresent: 1,
  })
})

test('the ledger passes a refusal on to the caller and does not record it', async () => {
  const refusal = new ApiError(422, { code: 'validation_error', detail: 'no' })
  await assert.rejects(
    createLedger().run('publish', 'x', () => Promise.reject(refusal)),
    refusal,
  )
})
