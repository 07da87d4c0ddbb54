import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { createLeasedWorker, LeaseLost } from './leased-worker.ts'

const leaseMs = 10_000
/** A worker on rows that are names. `calls`: its steps in order. `works`: work that has not ended. */
function startWorker(more: Partial<Parameters<typeof createLeasedWorker<string, { row: string }>>[0]> = {}) {
  const calls: string[] = []
  const works = new Map<string, PromiseWithResolvers<void>>()
  const worker = createLeasedWorker<string, { row: string }>({
    nameOf: (row) => row,
    take: async (row) => {
      calls.push(`take ${row}`)
      return { row }
    },
    work: async ({ row }, signal) => {
      const work = Promise.withResolvers<void>()
      works.set(row, work)
      signal.addEventListener('abort', () => work.reject(signal.reason))
      await work.promise
      calls.push(`done ${row}`)
    },
    release: async ({ row }) => calls.push(`release ${row}`),
    failed: async ({ row }, e) => calls.push(`failed ${row}: ${(e as Error).message}`),
    ended: (row) => calls.push(`ended ${row}`),
    onError: (e) => calls.push(`error: ${(e as Error).message}`),
    ...more,
  })
  return { worker, calls, works }
}

test('callers of one row share its work; a row that another replica has is left to it', async () => {
  const { worker, calls, works } = startWorker({ take: async (row) => (row === 'theirs' ? undefined : { row }) })
  const both = [worker.start('a'), worker.start('a'), worker.start('theirs')]
  assert.equal(both[0], both[1])
  await turn()
  assert.deepEqual(worker.keys(), ['a'])
  works.get('a')!.resolve()
  await Promise.all(both)
  await turn()
  assert.deepEqual([calls, worker.keys()], [['ended theirs', 'done a', 'ended a'], []])
})

test('a stop gives the rows back and takes no other; without a release the lease runs out', async () => {
  for (const { more, released } of [
    { more: {}, released: ['release a'] },
    { more: { release: undefined }, released: [] },
  ]) {
    const { worker, calls } = startWorker(more as object)
    void worker.start('a')
    await turn()
    await worker.stop()
    await worker.start('b')
    assert.deepEqual(calls, ['take a', ...released, 'ended a'])
  }
})

test('a failure is settled under the lease, or goes to the callers; a lost lease is neither', async () => {
  const { worker, calls, works } = startWorker()
  const failing = worker.start('a')
  const losing = worker.start('b')
  await turn()
  works.get('a')!.reject(new Error('broken'))
  works.get('b')!.reject(new LeaseLost())
  await Promise.all([failing, losing])
  assert.deepEqual(
    calls.filter((call) => !/^(take|ended)/.test(call)),
    ['failed a: broken'],
  )
  const plain = startWorker({ failed: undefined } as object)
  const one = plain.worker.start('a')
  await turn()
  plain.works.get('a')!.reject(new Error('broken'))
  await assert.rejects(one, /broken/)
  assert.deepEqual(plain.calls.slice(1), ['error: broken', 'ended a'])
})

test('renewals keep the lease; a refused one, a silence of them, or an end from outside abort the work', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds; n++) {
      now += 1000
      t.mock.timers.tick(1000)
      await turn()
    }
  }
  let asked = 0
  let answer: () => Promise<boolean> = async () => true
  const renew = () => {
    asked++
    return answer()
  }
  const { worker, calls } = startWorker({ renewal: { leaseMs, renew } })
  /** Works on a row until its lease is lost. Returns the number of renewals, and the errors. */
  const run = async (lose: () => Promise<unknown>) => {
    calls.length = 0
    asked = 0
    const work = worker.start('a')
    await turn()
    await lose()
    await work
    await turn()
    const errors = calls.filter((call) => call.startsWith('error'))
    assert.deepEqual(
      calls.filter((call) => !call.startsWith('error')),
      ['take a', 'ended a'],
    )
    return [asked, ...new Set(errors)]
  }
  const refused = await run(async () => {
    await pass(60)
    assert.deepEqual(worker.keys(), ['a'])
    answer = async () => false
    await pass(3)
  })
  assert.deepEqual(refused, [21])
  answer = () => Promise.reject(new Error('no database'))
  const failed = await run(async () => {
    await pass(8)
    assert.deepEqual(worker.keys(), ['a'], 'the lease is still good')
    await pass(1)
  })
  assert.deepEqual(failed, [2, 'error: no database'])
  answer = () => new Promise(() => {})
  assert.deepEqual(await run(() => pass(9)), [1])
  assert.deepEqual(await run(async () => worker.lose(({ row }) => row === 'a')), [0])
})

test('a lease whose answer comes after most of its time is given back without work', async () => {
  const renewal = { leaseMs: 10, renew: async () => true }
  const take = async (row: string) => {
    await delay(2 * renewal.leaseMs)
    return { row }
  }
  const { worker, calls, works } = startWorker({ take, renewal })
  await worker.start('a')
  await turn()
  assert.deepEqual([calls, works.size], [['release a', 'ended a'], 0])
})
