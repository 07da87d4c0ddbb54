import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from '../kernel/actor.ts'
import type { Listener } from './changes.ts'
import { tenantCache } from './tenant-cache.ts'

const [one, two] = ['1', '2'] as [TenantId, TenantId]
const subject = 's'

function startCache() {
  const listeners: Listener[] = []
  const beats: (() => void)[] = []
  const state = { fresh: true, caughtUp: 0, away: false }
  return {
    state,
    memory: {
      changes: { listen: (_: string, l: Listener) => void listeners.push(l) },
      feed: {
        isFresh: () => state.fresh,
        catchUp: async () => {
          state.caughtUp++
          if (state.away) throw new Error('away')
          state.fresh = true
        },
        onBeat: (f: () => void) => void beats.push(f),
      },
    },
    beat: () => {
      for (const f of beats) f()
    },
    change: (tenant: TenantId, kind: 'policy' | 'trust') => {
      for (const l of listeners) l.changed(tenant, [{ kind, subject }])
    },
    forget: (tenant?: TenantId) => {
      for (const l of listeners) l.forgotten(tenant)
    },
  }
}

test('a value is loaded once and cached until its kinds change or its tenant is forgotten', async () => {
  const { memory, change, forget } = startCache()
  let reads = 0
  const values = tenantCache(memory, { kinds: ['policy'], load: async (tenant) => ({ tenant, read: ++reads }) })
  assert.deepEqual(await Promise.all([values.get(one), values.get(one)]), [
    { tenant: one, read: 1 },
    { tenant: one, read: 1 },
  ])
  assert.deepEqual(values.get(one), { tenant: one, read: 1 })
  change(one, 'trust')
  change(two, 'policy')
  assert.deepEqual(values.get(one), { tenant: one, read: 1 })
  change(one, 'policy')
  assert.deepEqual(await values.get(one), { tenant: one, read: 2 })
  forget(one)
  assert.deepEqual(await values.get(one), { tenant: one, read: 3 })
  forget()
  assert.deepEqual(await values.get(one), { tenant: one, read: 4 })
})

test('a load overtaken by a change serves earlier callers only', async () => {
  const { memory, change } = startCache()
  const loads: ((value: { read: number }) => void)[] = []
  const values = tenantCache(memory, {
    kinds: ['policy'],
    load: () => new Promise<{ read: number }>((r) => loads.push(r)),
  })
  const before = values.get(one)
  change(one, 'policy')
  const after = values.get(one)
  loads[1]!({ read: 2 })
  assert.deepEqual(await after, { read: 2 })
  loads[0]!({ read: 1 })
  assert.deepEqual(await before, { read: 1 })
  assert.deepEqual(values.get(one), { read: 2 })
})

test('a patched value gets every change, including those during its load', async () => {
  const { memory, change } = startCache()
  const loads: (() => void)[] = []
  const values = tenantCache<{ heard: number }>(memory, {
    kinds: ['policy'],
    load: () => new Promise((resolve) => loads.push(() => resolve({ heard: 0 }))),
    patch: (value, list) => {
      value.heard += list.length
      return true
    },
  })
  const loading = values.get(one)
  change(one, 'policy')
  loads[0]!()
  assert.equal((await loading).heard, 1)
  change(one, 'policy')
  assert.equal(((await values.get(one)) as { heard: number }).heard, 2)
})

test('an unproven cache compares once, and fails while the database is unavailable', async () => {
  const { memory, state } = startCache()
  const values = tenantCache(memory, { kinds: ['policy'], load: async () => ({}) })
  await values.get(one)
  Object.assign(state, { fresh: false, away: true })
  await assert.rejects(async () => values.get(one), /away/)
  state.away = false
  assert.ok(await values.get(one))
  assert.equal(state.caughtUp, 2)
})

test('a failed load is not cached, and the size limit holds', async () => {
  const { memory } = startCache()
  let fails = true
  const values = tenantCache(memory, {
    kinds: ['policy'],
    bound: 1,
    load: async () => {
      if (fails) throw new Error('no')
      return {}
    },
  })
  await assert.rejects(async () => values.get(one), /no/)
  fails = false
  await values.get(one)
  await values.get(two)
  assert.equal(values.size(), 1)
})

test('an unused value is dropped, unless a caller waits for its change', async () => {
  const { memory, beat } = startCache()
  const awaited = new Set([one])
  const gone: object[] = []
  const values = tenantCache(memory, {
    kinds: ['policy'],
    load: async (tenant) => ({ tenant }),
    onDrop: (value) => gone.push(value),
    idle: { afterMs: 0, isAwaited: (tenant) => awaited.has(tenant) },
  })
  await values.get(one)
  await values.get(two)
  beat()
  assert.equal(values.size(), 2, 'both were asked for since the last look')
  await values.get(two)
  beat()
  assert.equal(values.size(), 2)
  beat()
  assert.deepEqual([values.size(), gone], [1, [{ tenant: two }]])
  awaited.clear()
  beat()
  assert.equal(values.size(), 0)
})
