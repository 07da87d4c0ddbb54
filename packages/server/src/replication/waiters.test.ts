import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { TenantId } from '../kernel/actor.ts'
import { createWaiters } from './waiters.ts'

const tenant = 'a' as TenantId
const turns = async (n: number) => {
  for (let i = 0; i < n; i++) await turn()
}

/** Starts waiters that each leave after they were woken, after `look`. */
function startHerd(size: number, look: (i: number) => Promise<void>, tenantOf = (_: number) => tenant) {
  const waiters = createWaiters({ max: 100, perTurn: 5, oneFirst: true })
  const woken: number[] = []
  const wait = async (i: number) => {
    const ticket = waiters.enter(tenantOf(i), String(i))
    assert.ok(ticket)
    const outcome = await ticket.next(60_000)
    if (outcome === 'woken') woken.push(i)
    await look(i).finally(ticket.leave)
  }
  const all = Promise.allSettled(Array.from({ length: size }, (_, i) => wait(i)))
  return { waiters, woken, all }
}

test('the other waiters follow once the first has loaded', async () => {
  const made = Promise.withResolvers<void>()
  const { waiters, woken, all } = startHerd(20, (i) => (i === 0 ? made.promise : Promise.resolve()))
  waiters.wakeAll(tenant)
  await turns(20)
  assert.deepEqual(woken, [0])
  made.resolve()
  await all
  assert.equal(woken.length, 20)
})

test('an error of the first waiter does not block the others', async () => {
  const { waiters, woken, all } = startHerd(20, (i) => (i === 0 ? Promise.reject(new Error('no')) : Promise.resolve()))
  waiters.wakeAll(tenant)
  await all
  assert.equal(woken.length, 20)
})

test('waiters that are woken again during the first load are all woken', async () => {
  const made = Promise.withResolvers<void>()
  const { waiters, woken, all } = startHerd(20, (i) => (i === 0 ? made.promise : Promise.resolve()))
  waiters.wakeAll(tenant)
  await turns(3)
  waiters.wakeAll(tenant)
  await turns(3)
  made.resolve()
  await all
  assert.equal(woken.length, 20)
})

test('on a change of all tenants no tenant waits for the first waiter of another', async () => {
  const made = Promise.withResolvers<void>()
  const { waiters, woken, all } = startHerd(
    20,
    (i) => (i === 0 ? made.promise : Promise.resolve()),
    (i) => String(i % 4) as TenantId,
  )
  waiters.wakeAll(undefined)
  await turns(20)
  assert.equal(woken.length, 20)
  made.resolve()
  await all
})

test('released waiters are answered at once, including later ones, and none of another tenant', async () => {
  const waiters = createWaiters({ max: 10, perTurn: 5, oneFirst: false })
  const other = '22222222-2222-2222-2222-222222222222' as TenantId
  const [waits, looks, stays] = [waiters.enter(tenant, 'a'), waiters.enter(tenant, 'b'), waiters.enter(other, 'a')]
  const first = waits!.next(60_000)
  const third = stays!.next(20)
  waiters.release(tenant)
  assert.deepEqual([await first, await looks!.next(60_000), await third], ['stopped', 'stopped', 'timeout'])
})
