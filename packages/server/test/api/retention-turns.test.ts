import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { createRetention } from '../../src/db/forgetting.ts'
import type { Prune } from '../../src/db/retention.ts'
import { startKit } from '../support/deployment/deployment.ts'

test('a run takes all that is over, however much, in turns between tenants, and ends with its time', async (t) => {
  const kit = await startKit(t)
  const much = kit.tenant
  const [little, failing] = [await kit.newTenant(), await kit.newTenant()]
  const left = new Map([
    [much, 80],
    [little, 1],
  ])
  const taken: string[] = []
  const prune: Prune = {
    isDue: () => sql`true`,
    take: async (_, tenant, limit) => {
      if (tenant === failing) throw new Error('one that fails')
      taken.push(tenant)
      const batches = left.get(tenant) ?? 0
      left.set(tenant, batches - 1)
      return batches > 0 ? limit : 0
    },
  }
  const run = (runMs: number) =>
    createRetention({
      db: kit.db,
      tenants: async () => [failing, much, little],
      prunes: [prune],
      recordPurges: async () => {},
      turnMs: 20,
      runMs,
    })()
  await assert.rejects(run(60_000), /one that fails/)
  assert.deepEqual([left.get(much), left.get(little)], [-1, -1])
  const turnOfOther = taken.indexOf(little)
  assert.ok(turnOfOther > 0 && turnOfOther < 80, `the other came after ${turnOfOther} batches`)

  left.set(much, 100_000)
  taken.length = 0
  await assert.rejects(run(100), /one that fails/)
  assert.ok(taken.length < 1000, 'not for ever')
})
