import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from './actor.ts'
import { createRecent } from './recent.ts'

const [one, other] = ['1', '2'] as unknown as [TenantId, TenantId]

function startRecent() {
  let atMs = 1_000_000
  const readings: PromiseWithResolvers<string>[] = []
  const recent = createRecent<string>({
    read: () => {
      const reading = Promise.withResolvers<string>()
      readings.push(reading)
      return reading.promise
    },
    freshMs: 1000,
    now: () => new Date(atMs),
  })
  return { recent, readings, pass: (ms: number) => (atMs += ms) }
}

test('concurrent readers of a tenant share one reading', async () => {
  const { recent, readings } = startRecent()
  const asked = [recent(one), recent(one), recent(other)]
  assert.equal(readings.length, 2)
  readings[0]!.resolve('a')
  readings[1]!.resolve('b')
  assert.deepEqual(await Promise.all(asked), ['a', 'a', 'b'])
  assert.equal(await recent(one), 'a')
  assert.equal(readings.length, 2)
})

test('an older value is returned while the next is read, and never at twice its age', async () => {
  const { recent, readings, pass } = startRecent()
  const first = recent(one)
  readings[0]!.resolve('a')
  await first
  pass(1000)
  assert.equal(await recent(one), 'a')
  assert.equal(await recent(one), 'a')
  assert.equal(readings.length, 2)
  pass(1000)
  const waiting = recent(one)
  assert.equal(readings.length, 2)
  readings[1]!.resolve('b')
  assert.equal(await waiting, 'b')
  // A value is as old as the start of its read, one second ago.
  assert.equal(await recent(one), 'b')
  assert.equal(readings.length, 3)
})

test('a failed reading is thrown to its waiters and repeated', async () => {
  const { recent, readings } = startRecent()
  const first = recent(one)
  readings[0]!.reject(new Error('away'))
  await assert.rejects(first, /away/)
  const again = recent(one)
  readings[1]!.resolve('a')
  assert.equal(await again, 'a')
})
