import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConcurrencyLimiter } from './concurrency-limiter.ts'

test('a key that fills its own queue leaves places to other keys', async () => {
  const inTurn = createConcurrencyLimiter({ perKey: 1, total: 1, waiting: 4, waitingPerKey: 2 })
  const done: string[] = []
  let open = () => {}
  const closed = new Promise<void>((resolve) => {
    open = resolve
  })
  const come = (key: string) =>
    inTurn(key, () => closed).then(
      () => done.push(key),
      (e) => done.push(`${key} ${e.code}`),
    )
  const all = ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'c'].map(come)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(done, ['a rate_limited', 'b rate_limited', 'c rate_limited'], 'two of a and two of b wait')
  open()
  await Promise.all(all)
  assert.deepEqual(done.slice(3), ['a', 'a', 'a', 'b', 'b'])
})
