import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from '../../../kernel/actor.ts'
import type { ChangeKind, Listener } from '../../../replication/changes.ts'
import { createPullWaiters, type Ticket } from './waiters.ts'

const tenant = 'a' as TenantId

const kit = ({ max = 10, gatherMs = 1 } = {}) => {
  let tell: Listener['changed'] = () => {}
  const listen = (_: string, listener: Listener) => {
    tell = listener.changed
  }
  const waiters = createPullWaiters({ changes: { listen }, max, gatherMs })
  const change = (kind: ChangeKind, subject = 'x', where: TenantId = tenant) => tell(where, [{ kind, subject }])
  const enter = (gateway = 'g'): Ticket => {
    const ticket = waiters.enter(tenant, gateway)
    assert.ok(ticket)
    return ticket
  }
  return { waiters, change, enter }
}

for (const kind of ['device', 'user', 'group', 'policy', 'pool', 'vpn_session', 'trust'] as const)
  test(`a change of kind ${kind} wakes a held pull`, async () => {
    const { change, enter } = kit()
    const next = enter().next(5000)
    change(kind)
    assert.equal(await next, 'woken')
  })

for (const kind of ['api_key', 'admin_session', 'enrollment_token', 'settings'] as const)
  test(`a change of kind ${kind} does not wake a held pull`, async () => {
    const { change, enter } = kit()
    const next = enter().next(30)
    change(kind)
    assert.equal(await next, 'timeout')
  })

test('changes of another tenant or gateway wake no pull; a change of the own gateway does', async () => {
  const { change, enter } = kit()
  const next = enter('g').next(30)
  change('device', 'x', 'b' as TenantId)
  change('gateway', 'h')
  assert.equal(await next, 'timeout')
  const again = enter('g').next(5000)
  change('gateway', 'g')
  assert.equal(await again, 'woken')
})

test('a change between two waits is not missed', async () => {
  const { change, enter } = kit()
  const ticket = enter()
  change('device')
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(await ticket.next(5000), 'woken')
  assert.equal(await ticket.next(10), 'timeout')
})

test('the number of held pulls is limited, and one that leaves makes room', () => {
  const { waiters, enter } = kit({ max: 2 })
  const first = enter()
  enter()
  assert.equal(waiters.enter(tenant, 'g'), undefined)
  first.leave()
  first.leave()
  assert.equal(waiters.count(), 1)
  enter()
})

test('a disconnect and a shutdown end the wait', async () => {
  const { waiters, enter } = kit()
  const client = enter()
  const gone = client.next(5000)
  client.onClientGone()
  assert.deepEqual([await gone, await client.next(5000)], ['gone', 'gone'])
  const ticket = enter()
  const held = ticket.next(5000)
  waiters.stop()
  assert.equal(await held, 'stopped')
  assert.equal(await ticket.next(5000), 'stopped')
  assert.equal(waiters.enter(tenant, 'g'), undefined)
})

test('a pull that arrives during a round of wake-ups is woken with the next round', async () => {
  const { waiters, change, enter } = kit({ gatherMs: 200 })
  const [first, second] = [enter('g'), enter('h')]
  const both = Promise.all([first.next(5000), second.next(5000)])
  assert.equal(waiters.joinRound(tenant), false, 'at rest: whoever comes is answered')
  change('device')
  assert.deepEqual(await both, ['woken', 'woken'])
  assert.equal(waiters.joinRound(tenant), true)
  let isWoken = false
  const next = first.next(5000).then((outcome) => {
    isWoken = true
    return outcome
  })
  change('device')
  await new Promise(setImmediate)
  assert.equal(isWoken, false, 'the others rest')
  assert.deepEqual(await Promise.all([next, second.next(5000)]), ['woken', 'woken'])
  await new Promise((resolve) => setTimeout(resolve, 250))
  assert.equal(waiters.joinRound(tenant), false, 'nothing came meanwhile')
})

test('a change of the own gateway wakes without waiting for a round', async () => {
  const { waiters, change, enter } = kit({ gatherMs: 200 })
  const ticket = enter('g')
  const woken = ticket.next(5000)
  change('device')
  await woken
  assert.equal(waiters.joinRound(tenant), true)
  const own = ticket.next(5000)
  change('gateway', 'g')
  let isWoken = false
  void own.then(() => {
    isWoken = true
  })
  await new Promise(setImmediate)
  assert.equal(isWoken, true)
  waiters.stop()
})
