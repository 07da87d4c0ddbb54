import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { limitUnused } from './limit-unused.ts'

test('the cache keeps the pages that were read last, and creates and reads each once', async (t) => {
  const client = new QueryClient()
  t.after(() => client.clear())
  const cache = client.getQueryCache()
  limitUnused(cache, 5)
  let [added, reads] = [0, 0]
  cache.subscribe(({ type }) => {
    if (type === 'added') added++
  })
  const page = (at: number) => ({ queryKey: [at], queryFn: async () => ++reads, staleTime: 60_000 })
  const sums = new QueryObserver(client, { queryKey: ['sums', 0], queryFn: () => 0 })
  t.after(sums.subscribe(() => undefined))
  let leave = () => {}
  const show = async (at: number) => {
    // A view is drawn with an observer that subscribes later; another view changes in between.
    const observer = new QueryObserver(client, page(at))
    sums.setOptions({ queryKey: ['sums', at], queryFn: () => 0 })
    await wait(2)
    leave()
    leave = observer.subscribe(() => undefined)
    await wait(2)
    assert.equal(cache.find({ queryKey: [at] })?.state.status, 'success', `page ${at} is in the cache`)
  }
  for (let at = 1; at <= 30; at++) await show(at)
  assert.equal(cache.getAll().length, 5 + 2, 'unused answers, and those of the two observers')
  assert.deepEqual({ added, reads }, { added: 30 + 31, reads: 30 })
  leave()
})

test('Back through all cached pages reads none again', async (t) => {
  const client = new QueryClient()
  t.after(() => client.clear())
  limitUnused(client.getQueryCache(), 5)
  let reads = 0
  const page = (at: number) => ({ queryKey: [at], queryFn: async () => ++reads, staleTime: 60_000 })
  const list = new QueryObserver(client, page(1))
  t.after(list.subscribe(() => undefined))
  for (const at of [2, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4, 3]) {
    list.setOptions(page(at))
    await wait(2)
  }
  assert.equal(reads, 8)
})
