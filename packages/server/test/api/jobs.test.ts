import assert from 'node:assert/strict'
import { test } from 'node:test'
import { populate } from '../support/actors/all-callers.ts'
import { startKit } from '../support/deployment/deployment.ts'

test('every background job runs, twice, on a tenant that has something of everything', async (t) => {
  const kit = await startKit(t)
  await populate(kit, kit.admin)
  for (const job of [...kit.app.jobs, ...kit.app.jobs]) await assert.doesNotReject(async () => job.run(), job.name)
  assert.ok(kit.app.jobs.length > 10)
})
