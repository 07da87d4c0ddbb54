import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionsAtMost } from '../deployment/open-files.ts'
import { readOptions, UsageError } from './options.ts'
import { createRandom } from './random.ts'
import { mintSessionId } from './session-id.ts'
import { percentile } from './summary.ts'

test('a percentile is one of the samples, by nearest rank', () => {
  const samples = Array.from({ length: 100 }, (_, i) => 100 - i)
  assert.deepEqual(
    [0.5, 0.99, 1].map((share) => percentile(samples, share)),
    [50, 99, 100],
  )
  assert.equal(percentile([7], 0.5), 7)
  assert.ok(Number.isNaN(percentile([], 0.5)))
})

test('a session id is a TypeID over a UUIDv7', () => {
  // Version 7 and variant 10 are set over the random bits (RFC 9562 §5.7).
  assert.equal(mintSessionId(0, new Uint8Array(16)), 'vse_0000000000e008000000000000')
  assert.equal(mintSessionId(2 ** 48 - 1, new Uint8Array(16).fill(255)), 'vse_7zzzzzzzzzfzzvzzzzzzzzzzzz')
})

test('random picks are within bounds and different', () => {
  const random = createRandom(9)
  for (let i = 0; i < 1_000; i++) assert.ok([2, 3, 4].includes(random.between(2, 4)))
  const some = random.some([1, 2, 3, 4, 5], 3)
  assert.equal(new Set(some).size, 3)
  assert.equal(random.some([1, 2], 5).length, 2)
})

test('a wrong option is reported in one sentence', () => {
  assert.throws(
    () => readOptions(['--devices', 'many'], undefined),
    new UsageError('--devices takes a whole number from 20 to 20000, not "many".'),
  )
  assert.throws(() => readOptions(['--url', 'http://127.0.0.1:1'], undefined), UsageError)
  assert.throws(() => readOptions(['--unknown'], undefined), UsageError)
  assert.equal(readOptions(['--help'], undefined), undefined)
  assert.deepEqual(readOptions(['--url', 'https://a.example/x'], 'hfk_k')?.remote, {
    url: 'https://a.example',
    apiKey: 'hfk_k',
  })
})

test('the default number of replicas and processes suffices for one connection of each device', () => {
  const devices = Math.min(20_000, 10 * connectionsAtMost())
  const needed = Math.ceil(devices / connectionsAtMost())
  const { replicas, processes } = readOptions(['--devices', String(devices)], undefined) ?? {}
  assert.deepEqual([replicas, processes], [needed, Math.max(2, needed)])
  assert.equal(readOptions(['--replicas', '3'], undefined)?.replicas, 3)
  assert.throws(() => readOptions(['--replicas', '2', '--kill', '1'], undefined), UsageError)
})
