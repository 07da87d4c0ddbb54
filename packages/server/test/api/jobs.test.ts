import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeSampleObjects } from '../support/actors/sample-objects.ts'
import { startKit } from '../support/deployment/deployment.ts'

test('every background job runs twice on a populated tenant', async (t) => {
  const kit = await startKit(t)
  await makeSampleObjects(kit, kit.admin)
  for (const job of [...kit.app.jobs, ...kit.app.jobs]) await assert.doesNotReject(async () => job.run(), job.name)
  assert.ok(kit.app.jobs.length > 10)
})
