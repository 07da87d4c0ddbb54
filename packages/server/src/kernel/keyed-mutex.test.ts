import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeyedMutex } from './keyed-mutex.ts'

test('calls of one key never overlap, calls of two keys do', async () => {
  const inTurn = createKeyedMutex(100)
  const running = { a: 0, b: 0 }
  let most = 0
  let together = false
  const work = (key: 'a' | 'b') => async () => {
    running[key]++
    most = Math.max(most, running[key])
    together ||= running.a > 0 && running.b > 0
    await new Promise((resolve) => setTimeout(resolve, 2))
    running[key]--
    return key
  }
  const done = await Promise.all(
    Array.from({ length: 10 }, (_, i) => inTurn(i % 2 ? 'a' : 'b', work(i % 2 ? 'a' : 'b'))),
  )
  assert.equal(done.length, 10)
  assert.equal(most, 1)
  assert.equal(together, true)
})

test('an error reaches its caller and not the next one', async () => {
  const inTurn = createKeyedMutex(100)
  const first = inTurn('a', () => Promise.reject(new Error('no')))
  const second = inTurn('a', async () => 'yes')
  await assert.rejects(first, /no/)
  assert.equal(await second, 'yes')
})

test('a full queue refuses a call without running it', async () => {
  const inTurn = createKeyedMutex(1)
  let ran = 0
  const work = async () => ++ran
  const [, , refused] = await Promise.all([inTurn('a', work), inTurn('a', work), inTurn('a', work)])
  assert.equal(refused, undefined)
  assert.equal(ran, 2)
})
