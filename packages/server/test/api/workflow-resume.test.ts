import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enroll } from '../support/actors/devices.ts'
import { makeUser } from '../support/actors/people.ts'
import { holdTable } from '../support/database/table-lock.ts'
import { runJob, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { publish, rule } from '../support/domain/policy.ts'
import { abandonRuns, driveWorkflows, untilRunEnds } from '../support/domain/workflow-runs.ts'

test('a recorded step is not repeated, even if its effect was undone since', async (t) => {
  const kit = await startKit(t)
  const device = await enroll(kit, 'laptop')
  const { run } = await kit.admin.runPlaybook({
    body: { playbook: 'lost_device', params: { device_id: device.id, revoke: false } },
  })
  const lock_id = String(run.steps[0]?.result.lock_id)
  await kit.admin.releaseLock({ params: { lock_id }, body: { reason: 'it was on the desk' } })
  await abandonRuns(kit)
  await driveWorkflows(kit, 1)
  const done = await untilRunEnds(kit, run.workflow_run_id)
  assert.deepEqual(done.steps[0]?.result, { changed: true, lock_id, made_before: true })
  assert.deepEqual((await kit.admin.listLocks()).items, [], 'the release is respected')
})

test('a holder that stalled before a step leaves the step to the next holder', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { app, stop } = kit.replicas[1]!
  const device = await enroll(kit, 'laptop')
  const { run } = await kit.admin.runPlaybook({
    body: { playbook: 'lost_device', params: { device_id: device.id, revoke: false } },
  })
  await kit.admin.releaseLock({ params: { lock_id: String(run.steps[0]?.result.lock_id) }, body: {} })
  await abandonRuns(kit)
  const claims = () =>
    kit.db.inTenant(kit.tenant, (tx) =>
      tx.selectFrom('idempotency_keys').select('key').where('principal', 'like', 'workflow_run:%').execute(),
    )
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx.deleteFrom('idempotency_keys').where('tenant_id', '=', kit.tenant).execute(),
  )
  const held = await holdTable(kit, 'api_keys', 'access exclusive')
  await runJob(app, 'drive_workflows')
  await held.waits(1)
  // Another replica has taken the lease meanwhile.
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('workflow_runs')
      .set({ claimed_by: crypto.randomUUID(), claimed_until: new Date(Date.now() + 3_600_000) })
      .where('tenant_id', '=', kit.tenant)
      .execute(),
  )
  await held.letGo()
  await stop()
  assert.deepEqual(await claims(), [])
  assert.equal((await eventsOf(kit, 'lock.set')).length, 1)
})

test('a promotion ends only the canary for which it was planned', async (t) => {
  const kit = await startKit(t)
  const canary = (id: string) => {
    const policy = { schema: 'holdfast.policy/1', rules: [rule(id, { any: true })] }
    return kit.admin.publishPolicy({ body: { channel: 'canary', policy } })
  }
  await publish(kit, [rule('first', { any: true })])
  await canary('second')
  const { run } = await kit.admin.runWorkflow({ body: { workflow: 'promote_canary' } })
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
  // As if the step came after another canary.
  await canary('third')
  await abandonRuns(kit)
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx.deleteFrom('idempotency_keys').where('tenant_id', '=', kit.tenant).execute(),
  )
  await driveWorkflows(kit, 1)
  const done = await untilRunEnds(kit, run.workflow_run_id)
  assert.equal(done.status, 'failed')
  assert.match(done.steps[0]?.error ?? '', /canary version 4 is active/)
})

test('a run continues as its requester, with the permissions of the requester at that time', async (t) => {
  const kit = await startKit(t)
  const { api_key, secret } = await kit.admin.createApiKey({ body: { name: 'automation', role: 'tenant_admin' } })
  const device = await enroll(kit, 'laptop')
  const { run } = await kit
    .clientFor(secret)
    .runPlaybook({ body: { playbook: 'lost_device', params: { device_id: device.id, revoke: false } } })
  assert.equal(run.requested_by.id, api_key.key_id)
  const locked = (await eventsOf(kit, 'lock.set'))[0]
  assert.deepEqual([locked?.actor.id, locked?.request_id], [api_key.key_id, run.workflow_run_id])
  const [lock] = (await kit.admin.listLocks()).items
  await kit.admin.releaseLock({ params: { lock_id: lock!.lock_id }, body: {} })
  await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id }, body: {} })
  await abandonRuns(kit)
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx.deleteFrom('idempotency_keys').where('tenant_id', '=', kit.tenant).execute(),
  )
  await driveWorkflows(kit, 1)
  const done = await untilRunEnds(kit, run.workflow_run_id)
  assert.equal(done.status, 'failed')
  assert.match(done.steps[0]?.error ?? '', /no longer has access/)
  assert.deepEqual((await kit.admin.listLocks()).items, [])
})

test('a cancelled run ends after the current step, and its steps can be undone', async (t) => {
  const kit = await startKit(t)
  const user_id = await makeUser(kit, 'ada')
  const held = await holdTable(kit, 'locks')
  const body = { playbook: 'compromised_user', params: { user_id, suspend: true } }
  const running = kit.admin.runPlaybook({ body })
  await held.waits(1)
  const seen = async () => (await kit.admin.listWorkflowRuns()).items[0]!
  const params = { workflow_run_id: (await seen()).workflow_run_id! }
  const change = (operation: 'cancel' | 'undo') => kit.admin.changePlaybookRun({ params, body: { operation } })
  const cancelling = change('cancel')
  await until(async () => (await seen()).cancelled_at !== null, 'it is called off')
  await held.letGo()
  assert.equal((await cancelling).changed, true)
  const { run } = await running
  assert.equal(run.status, 'cancelled')
  assert.deepEqual(
    run.steps.map((s) => s.status),
    ['succeeded', 'pending', 'pending', 'pending'],
  )
  assert.equal((await change('cancel')).changed, false)
  assert.equal((await kit.admin.getUser({ params: { user_id } })).status, 'active')
  assert.equal((await kit.admin.listLocks()).items.length, 1)
  const undone = await change('undo')
  assert.equal(undone.run.status, 'succeeded', JSON.stringify(undone.run.steps))
  assert.deepEqual((await kit.admin.listLocks()).items, [])
})

test('a failed step is retried on request, and no other step', async (t) => {
  const kit = await startKit(t)
  const chief = await makeUser(kit, 'chief')
  await makeUser(kit, 'another', ['tenant_admin'])
  const security = await kit.as('security_admin')
  const begun = await security.runPlaybook({ body: { playbook: 'compromised_user', params: { user_id: chief } } })
  // As if the user had been given a role between the plan and its first step.
  const lock_id = String(begun.run.steps[0]?.result.lock_id)
  await kit.admin.releaseLock({ params: { lock_id }, body: {} })
  await kit.admin.grantRole({ body: { user_id: chief, role: 'tenant_admin' } })
  await abandonRuns(kit)
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx.deleteFrom('idempotency_keys').where('tenant_id', '=', kit.tenant).execute(),
  )
  await driveWorkflows(kit, 1)
  const run = await untilRunEnds(kit, begun.run.workflow_run_id)
  assert.deepEqual(
    run.steps.map((s) => s.status),
    ['failed', 'failed', 'succeeded'],
    'the next step was worth trying',
  )
  assert.equal(run.status, 'failed')
  await kit.admin.revokeRole({ body: { user_id: chief, role: 'tenant_admin' } })
  const params = { workflow_run_id: run.workflow_run_id! }
  const resumed = await security.changePlaybookRun({ params, body: { operation: 'resume' } })
  assert.equal(resumed.run.status, 'succeeded', JSON.stringify(resumed.run.steps))
  assert.deepEqual(
    resumed.run.steps.map((s) => s.attempts),
    [3, 3, 2],
  )
  assert.notEqual(resumed.run.evidence_digest, run.evidence_digest)
  assert.deepEqual((await kit.admin.listLocks()).items.length, 1)
})
