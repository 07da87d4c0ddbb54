import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCollector } from './collect.ts'
import { gauge } from './exposition.ts'

test('without the database the metrics of the process are served, and holdfast_database_up is 0', async () => {
  const failures: unknown[] = []
  const collect = createCollector({
    local: [() => [gauge('a', 'Here.', 1)]],
    stored: [async () => [gauge('b', 'There.', 2)], () => Promise.reject(new Error('away'))],
    onError: (e) => failures.push(e),
  })
  const text = await collect()
  assert.deepEqual(
    [/^a 1$/m, /^b 2$/m, /^holdfast_database_up 0$/m].map((line) => line.test(text)),
    [true, true, true],
  )
  assert.equal(failures.length, 1)
})

test('concurrent and repeated collections query the database once', async () => {
  let asked = 0
  const collect = createCollector({
    local: [],
    stored: [async () => [gauge('b', 'There.', ++asked)]],
    onError: (e) => assert.fail(String(e)),
  })
  const texts = await Promise.all([collect(), collect()])
  assert.deepEqual(
    [...texts, await collect()].map((text) => /^b 1$/m.test(text)),
    [true, true, true],
  )
})
