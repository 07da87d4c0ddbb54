import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWriteBehind } from './write-behind.ts'

function observe() {
  const batches: Record<string, number>[] = []
  const errors: Error[] = []
  let broken = false
  const behind = createWriteBehind({
    write: async (batch) => {
      if (broken) throw new Error('away')
      if (batch.has('poison')) throw Object.assign(new Error('no'), { code: '23503' })
      batches.push(Object.fromEntries([...batch].map(([k, at]) => [k, at.getTime()])))
    },
    onError: (e) => errors.push(e),
  })
  return {
    ...behind,
    batches,
    errors,
    break: (b: boolean) => {
      broken = b
    },
  }
}

test('many touches of a key are written once, with the newest value', async () => {
  const o = observe()
  for (const ms of [1, 3, 2]) o.touch('a', new Date(ms), 60_000)
  o.touch('b', new Date(9), 60_000)
  await o.flush()
  await o.flush()
  assert.deepEqual(o.batches, [{ a: 3, b: 9 }])
})

test('the most urgent touch sets the time of the batch', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const o = observe()
  o.touch('a', new Date(1), 20_000)
  o.touch('b', new Date(1), 500)
  t.mock.timers.tick(499)
  assert.equal(o.batches.length, 0)
  t.mock.timers.tick(1)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(o.batches, [{ a: 1, b: 1 }])
})

test('a failed write goes with the next batch, unless a newer value replaced it', async () => {
  const o = observe()
  o.break(true)
  o.touch('a', new Date(1), 60_000)
  o.touch('b', new Date(1), 60_000)
  await o.flush()
  o.touch('b', new Date(5), 60_000)
  o.break(false)
  await o.flush()
  assert.equal(o.errors.length, 1)
  assert.deepEqual(o.batches, [{ a: 1, b: 5 }])
})

test('a failed write is repeated until it succeeds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const o = observe()
  o.break(true)
  o.touch('a', new Date(1), 500)
  for (const ms of [500, 5000, 5000]) {
    t.mock.timers.tick(ms)
    await settled()
  }
  assert.deepEqual([o.errors.length, o.batches.length], [3, 0])
  o.break(false)
  t.mock.timers.tick(5000)
  await settled()
  t.mock.timers.tick(60_000)
  await settled()
  assert.deepEqual(o.batches, [{ a: 1 }])
})

test('refused data is dropped and does not block other writes', async () => {
  const o = observe()
  for (const key of ['a', 'poison', 'b']) o.touch(key, new Date(1), 60_000)
  await o.flush()
  await o.flush()
  assert.deepEqual(Object.assign({}, ...o.batches), { a: 1, b: 1 })
  assert.equal(o.errors.length, 1)
})
