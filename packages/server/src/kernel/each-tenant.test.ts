import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from './actor.ts'
import { inBatches } from './batches.ts'
import { eachTenant, eachTenantOf, TenantGone } from './each-tenant.ts'

const tenants = ['a', 'b', 'c', 'd'] as TenantId[]

test('an error of one tenant does not stop the others and is thrown at the end; deleted tenants are skipped', async () => {
  const done: string[] = []
  const work = async (tenant: TenantId) => {
    if (tenant === 'a') throw new TenantGone()
    if (tenant === 'b') throw new Error('the first')
    if (tenant === 'd') throw new Error('the second')
    done.push(tenant)
  }
  await assert.rejects(eachTenant(tenants, work), /the first/)
  assert.deepEqual(done, ['c'])
  await eachTenant(['a', 'c'] as TenantId[], work)
  assert.deepEqual(done, ['c', 'c'])
})

test('work by batches: a failure stops neither the other tenants of its batch nor the next batches', async () => {
  const rows = tenants.flatMap((tenant_id) => [0, 1].map((n) => ({ tenant_id, n })))
  const batches = inBatches<(typeof rows)[number]>(3, async (after, size) => {
    const at = after ? rows.indexOf(after) + 1 : 0
    return rows.slice(at, at + size)
  })
  const done: string[] = []
  const work = eachTenantOf(batches, async (tenant, list) => {
    if (tenant === 'a') throw new Error('the first')
    done.push(`${tenant}${list.map((row) => row.n).join('')}`)
  })
  await assert.rejects(work, /the first/)
  assert.deepEqual(done, ['b0', 'b1', 'c01', 'd01'])
})
