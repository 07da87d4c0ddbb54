import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from './app-error.ts'
import { createGroupCommit } from './group-commit.ts'

const one = () => 'one'
const refusal = () => Object.assign(new Error('no'), { code: '22P05' })

test('calls during a write share the next batch, and each gets its own result', async () => {
  const batches: number[][] = []
  const join = createGroupCommit<number, number>(
    async (batch) => {
      batches.push(batch)
      await new Promise((resolve) => setImmediate(resolve))
      return batch.map((n) => n * 10)
    },
    { tenantOf: one, maxBatch: 3, maxQueue: 10, maxPerTenant: 10 },
  )
  assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map(join)), [10, 20, 30, 40, 50])
  assert.deepEqual(batches, [
    [1, 2, 3],
    [4, 5],
  ])
})

test('a failed batch fails only its own callers', async () => {
  const join = createGroupCommit<number, number>(
    async (batch) => {
      if (batch.includes(2)) throw new Error('no')
      return batch
    },
    { tenantOf: one, maxBatch: 2, maxQueue: 10, maxPerTenant: 10 },
  )
  const settled = await Promise.allSettled([1, 2, 3].map(join))
  assert.deepEqual(
    settled.map((s) => s.status),
    ['rejected', 'rejected', 'fulfilled'],
  )
})

test('a full queue refuses with a time to retry, and accepts again when it has drained', async () => {
  const join = createGroupCommit<number, number>(async (batch) => batch, {
    tenantOf: one,
    maxBatch: 2,
    maxQueue: 3,
    maxPerTenant: 10,
  })
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

test('refused data fails only the offending call of a batch', async () => {
  let writes = 0
  const join = createGroupCommit<number, number>(
    async (batch) => {
      writes++
      if (batch.includes(37)) throw refusal()
      return batch
    },
    { tenantOf: one, maxBatch: 100, maxQueue: 100, maxPerTenant: 100 },
  )
  const settled = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => join(i)))
  assert.deepEqual(
    settled.flatMap((s, i) => (s.status === 'rejected' ? [i] : [])),
    [37],
  )
  assert.ok(writes <= 16, `${writes} writes`)
})

test('a tenant that floods the queue waits alone, and is refused at its own limit', async () => {
  const written: string[][] = []
  const join = createGroupCommit<string>(
    async (batch) => {
      written.push(batch)
      await new Promise((resolve) => setImmediate(resolve))
      return []
    },
    { tenantOf: (item) => item[0]!, maxBatch: 10, maxQueue: 1000, maxPerTenant: 100 },
  )
  const flood = Promise.allSettled(Array.from({ length: 150 }, (_, i) => join(`a${i}`)))
  const others = [join('b1'), join('b2'), join('c1')]
  await Promise.all(others)
  assert.deepEqual(
    written.slice(0, 2).map((batch) => batch.filter((item) => item[0] !== 'a')),
    [['b1', 'c1', 'b2'], []].slice(0, written.length),
  )
  assert.equal((await flood).filter((s) => s.status === 'rejected').length, 50)
})

test('callers that were answered together are gathered into one batch again', async () => {
  const batches = async (gathers: boolean): Promise<number[]> => {
    const sizes: number[] = []
    const join = createGroupCommit<number, number>(
      async (batch) => {
        sizes.push(batch.length)
        await new Promise((resolve) => setTimeout(resolve, 40))
        return batch
      },
      { tenantOf: one, maxBatch: 100, maxQueue: 100, maxPerTenant: 100, gathers },
    )
    // Eight callers. Each asks again after its answer, with slightly different delays.
    const hand = async (n: number) => {
      for (let i = 0; i < 4; i++) {
        await new Promise((resolve) => setTimeout(resolve, n))
        await join(n)
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, n) => hand(n)))
    return sizes
  }
  assert.ok((await batches(true)).length < (await batches(false)).length)
})

test('a single caller does not wait for others', async () => {
  let begun = 0
  const join = createGroupCommit<number, number>(
    async (batch) => {
      begun++
      await new Promise((resolve) => setTimeout(resolve, 40))
      return batch
    },
    { tenantOf: one, maxBatch: 100, maxQueue: 100, maxPerTenant: 100, gathers: true },
  )
  for (let i = 1; i <= 3; i++) {
    const joined = join(i)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(begun, i, 'in the next turn of the loop')
    await joined
  }
})
