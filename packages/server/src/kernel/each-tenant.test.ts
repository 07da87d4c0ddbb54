import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from './actor.ts'
import { eachTenant, TenantGone } from './each-tenant.ts'

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
