import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TenantId } from '../kernel/actor.ts'
import { createFollowedTenants } from './followed-tenants.ts'

const id = (n: number) => `t${n}` as TenantId
const at = (seq: number) => ({ seq, atMs: seq })
/** Heartbeat result of a database with these tenants, some of them recently changed. */
const saying = (tenants: ReadonlyMap<TenantId, number>, lately: readonly TenantId[]) => ({
  tenants: tenants.size,
  seqs: [...tenants.values()].reduce((n, seq) => n + seq, 0),
  recentTenants: lately.filter((t) => tenants.has(t)).map((t) => [t, tenants.get(t) ?? 0, 0] as const),
})

test('tenants that were reset, removed, added or changed unnoticed do not add up; recent changes do', () => {
  const move = fc.record({ tenant: fc.nat(9), by: fc.integer({ min: -5, max: 5 }), isTold: fc.boolean() })
  fc.assert(
    fc.property(fc.array(fc.nat(100), { minLength: 10, maxLength: 10 }), fc.option(move), (seqs, moved) => {
      const followed = createFollowedTenants()
      const database = new Map(seqs.map((seq, i) => [id(i), seq + 10]))
      for (const [tenant, seq] of database) followed.start(tenant, at(seq))
      const before = followed.snapshot()
      const lately: TenantId[] = []
      if (moved) {
        database.set(id(moved.tenant), (database.get(id(moved.tenant)) ?? 0) + moved.by)
        if (moved.isTold) lately.push(id(moved.tenant))
      }
      assert.equal(before.accountsFor(saying(database, lately)), !moved || moved.by === 0 || moved.isTold)
      database.delete(id(3))
      assert.equal(before.accountsFor(saying(database, lately)), false)
    }),
  )
})

test('commits of this replica after the question do not change the comparison', () => {
  const followed = createFollowedTenants()
  for (const n of [1, 2, 3]) followed.start(id(n), at(10))
  const before = followed.snapshot()
  const database = new Map([1, 2, 3].map((n) => [id(n), 10]))
  followed.applied(id(1), at(11))
  followed.start(id(4), at(1))
  followed.drop(id(3))
  assert.equal(before.accountsFor(saying(database, [])), true, 'the database answered before')
  database.set(id(1), 11).set(id(4), 1)
  assert.equal(before.accountsFor(saying(database, [id(1), id(4)])), true, 'or after')
  assert.equal(before.accountsFor(saying(database, [id(1)])), false)
  database.delete(id(3))
  assert.equal(followed.snapshot().accountsFor(saying(database, [])), true, 'and then it is what is known')
})

test('a sequence number counts once all before it were applied', () => {
  const followed = createFollowedTenants()
  followed.start(id(1), at(1))
  followed.applied(id(1), at(3))
  assert.deepEqual([followed.of(id(1))?.seq, followed.newestOf(id(1))], [1, 3])
  assert.equal(followed.snapshot().accountsFor({ tenants: 1, seqs: 1, recentTenants: [] }), true)
  followed.applied(id(1), at(2))
  assert.equal(followed.snapshot().accountsFor({ tenants: 1, seqs: 3, recentTenants: [] }), true)
  followed.clear()
  assert.equal(followed.snapshot().accountsFor({ tenants: 0, seqs: 0, recentTenants: [] }), true)
})
