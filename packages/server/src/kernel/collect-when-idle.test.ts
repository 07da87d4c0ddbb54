import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { collectWhenIdle } from './collect-when-idle.ts'

const MB = 2 ** 20
const run = async (heap: { heapTotal: number; heapUsed: number }, busy = false) => {
  let collected = 0
  const { stop } = collectWhenIdle(() => collected++, { memory: () => heap, everyMs: 40 })
  await pass(busy)
  await stop()
  return collected
}
const pass = async (busy = false) => {
  for (const end = performance.now() + 200; performance.now() < end; )
    if (busy) for (const until = performance.now() + 15; performance.now() < until; ) await new Promise(setImmediate)
    else await delay(50)
}

test('an idle process with much garbage collects once', async () => {
  let collected = 0
  const heap = { heapTotal: 120 * MB, heapUsed: 30 * MB }
  const { stop } = collectWhenIdle(() => collected++, { memory: () => heap, everyMs: 40 })
  while (collected === 0) await delay(20)
  await pass()
  await stop()
  assert.equal(collected, 1)
})

test('a small gain, a large heap and a busy process prevent the collection', async () => {
  assert.equal(await run({ heapTotal: 40 * MB, heapUsed: 30 * MB }), 0)
  assert.equal(await run({ heapTotal: 400 * MB, heapUsed: 300 * MB }), 0)
  assert.equal(await run({ heapTotal: 120 * MB, heapUsed: 30 * MB }, true), 0)
})

test('the garbage left by a collection triggers no further one until it grows', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.method(performance, 'eventLoopUtilization', () => ({ idle: 1, active: 0, utilization: 0 }))
  let heapTotal = 120 * MB
  let collected = 0
  const collect = () => {
    collected++
    heapTotal = 60 * MB
  }
  const { stop } = collectWhenIdle(collect, { memory: () => ({ heapTotal, heapUsed: 30 * MB }), everyMs: 5000 })
  const pass = (minutes: number) => {
    for (let i = 0; i < minutes * 12; i++) {
      now += 5000
      t.mock.timers.tick(5000)
    }
    return collected
  }
  now = 60_000
  assert.equal(pass(5), 1, 'most of it could not be given')
  heapTotal = 70 * MB
  assert.equal(pass(5), 1)
  heapTotal = 90 * MB
  assert.equal(pass(5), 2)
  await stop()
})
