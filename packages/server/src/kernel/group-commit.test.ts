import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from './app-error.ts'
import { createGroupCommit } from './group-commit.ts'

test('what waits while a batch is written shares the next one; each gets its own result', async () => {
  const batches: number[][] = []
  const join = createGroupCommit<number, number>(
    async (batch) => {
      batches.push(batch)
      await new Promise((resolve) => setImmediate(resolve))
      return batch.map((n) => n * 10)
    },
    { maxBatch: 3, maxQueue: 10 },
  )
  assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map(join)), [10, 20, 30, 40, 50])
  assert.deepEqual(batches, [
    [1, 2, 3],
    [4, 5],
  ])
})

test('a batch that fails fails its own callers only', async () => {
  const join = createGroupCommit<number, number>(
    async (batch) => {
      if (batch.includes(2)) throw new Error('no')
      return batch
    },
    { maxBatch: 2, maxQueue: 10 },
  )
  const settled = await Promise.allSettled([1, 2, 3].map(join))
  assert.deepEqual(
    settled.map((s) => s.status),
    ['rejected', 'rejected', 'fulfilled'],
  )
})

test('beyond its bound the queue asks to come back, and takes again when it has drained', async () => {
  const join = createGroupCommit<number, number>(async (batch) => batch, { maxBatch: 2, maxQueue: 3 })
  const settled = await Promise.allSettled([1, 2, 3, 4].map(join))
  assert.deepEqual(
    settled.map((s) => s.status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  )
  const { reason } = settled[3] as PromiseRejectedResult
  assert.ok(reason instanceof AppError)
  assert.deepEqual([reason.code, reason.retryAfterSeconds], ['rate_limited', 1])
  assert.equal(await join(5), 5)
})
