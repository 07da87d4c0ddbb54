import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from '../../../kernel/actor.ts'
import { newUuid } from '../../../kernel/ids.ts'
import { createPollScheduler } from './deliveries.ts'

test('a replica polls all tenants first, then those with known work', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const [one, two] = [newUuid() as TenantId, newUuid() as TenantId]
  const looks = createPollScheduler()
  assert.equal(looks.next(), 'all')
  assert.equal(looks.next(), undefined, 'where nothing happens nothing is asked')
  looks.wake(one)
  looks.wake(one)
  assert.deepEqual(looks.next(), [one])
  looks.wake(two, 1000)
  assert.equal(looks.next(), undefined)
  t.mock.timers.tick(1000)
  assert.deepEqual(looks.next(), [two])
  looks.again([one])
  assert.deepEqual(looks.next(), [one], 'there was more than could be begun')
  looks.again('all')
  assert.equal(looks.next(), 'all')
})
