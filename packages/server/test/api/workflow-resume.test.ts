import assert from 'node:assert/strict'
import { test } from 'node:test'
import { audited, enroll, publish, refused, rule } from '../gateways.ts'
import { type Kit, runJob, startKit, times } from '../kit.ts'
import { makeUser } from '../people.ts'
import { until } from '../promptly.ts'

/** As a replica leaves a run that ends between the commit of its first step's change and the word that it was made. */
async function leave(kit: Kit): Promise<void> {
  await kit.db.inTenant(kit.tenant, async (tx) => {
    await tx
      .updateTable('workflow_runs')
      .set({ status: 'running', evidence: null, evidence_digest: null, finished_at: null, claimed_until: new Date(0) })
      .where('tenant_id', '=', kit.tenant)
      .execute()
    await tx
      .updateTable('workflow_steps')
      .set({ status: 'pending', result: '{}', undo: '[]', finished_at: null })
      .where('tenant_id', '=', kit.tenant)
      .execute()
  })
}
const drive = (kit: Kit, n: number) =>
  times(n, (i) => runJob(kit.replicas[i % kit.replicas.length]!.app, 'drive_workflows'))
const ended = async (kit: Kit, workflow_run_id: string | null) => {
  const params = { workflow_run_id: workflow_run_id! }
  await until(async () => (await kit.admin.getWorkflowRun({ params })).status !== 'running', 'the run ends')
  return kit.admin.getWorkflowRun({ params })
}

test('what a replica left is gone on with by one of two, and nothing is made twice', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await publish(kit, [rule('first', { any: true })])
  await publish(kit, [rule('second', { any: true })])
  const { run } = await kit.admin.runWorkflow({ body: { workflow: 'rollback_policy' } })
  assert.equal(run.status, 'succeeded')
  await leave(kit)
  await drive(kit, 10)
  const done = await ended(kit, run.workflow_run_id)
  assert.equal(done.status, 'succeeded', JSON.stringify(done.steps))
  assert.deepEqual([done.steps[0]?.attempts, done.steps[0]?.result], [2, { made_before: true }])
  assert.equal((await audited(kit, 'policy.published')).length, 3, 'two by hand, one by the run')
  assert.equal((await audited(kit, 'workflow.finished')).length, 2, 'each end of it is on record')
})

test('what can be said again is, with how to take it back', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const device = await enroll(kit, 'laptop')
  const { run } = await kit.admin.runPlaybook({
    body: { playbook: 'lost_device', params: { device_id: device.id, revoke: false } },
  })
  const lock_id = run.steps[0]?.result.lock_id
  await leave(kit)
  await drive(kit, 10)
  const done = await ended(kit, run.workflow_run_id)
  assert.deepEqual(done.steps[0]?.result, { changed: true, lock_id, made_before: true })
  assert.equal((await audited(kit, 'lock.set')).length, 1)
  const undone = await kit.admin.changePlaybookRun({
    params: { workflow_run_id: run.workflow_run_id! },
    body: { operation: 'undo' },
  })
  assert.equal(undone.run.status, 'succeeded', JSON.stringify(undone.run.steps))
  assert.deepEqual((await kit.admin.listLocks()).items, [])
})

test('a run goes on as whoever asked for it, and only with what they may do by then', async (t) => {
  const kit = await startKit(t)
  const { api_key, secret } = await kit.admin.createApiKey({ body: { name: 'automation', role: 'tenant_admin' } })
  const device = await enroll(kit, 'laptop')
  const { run } = await kit
    .clientFor(secret)
    .runPlaybook({ body: { playbook: 'lost_device', params: { device_id: device.id, revoke: false } } })
  assert.equal(run.requested_by.id, api_key.key_id)
  const locked = (await audited(kit, 'lock.set'))[0]
  assert.deepEqual([locked?.actor.id, locked?.request_id], [api_key.key_id, run.workflow_run_id])
  const [lock] = (await kit.admin.listLocks()).items
  await kit.admin.releaseLock({ params: { lock_id: lock!.lock_id }, body: {} })
  await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id }, body: {} })
  await leave(kit)
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx.deleteFrom('idempotency_keys').where('tenant_id', '=', kit.tenant).execute(),
  )
  await drive(kit, 1)
  const done = await ended(kit, run.workflow_run_id)
  assert.equal(done.status, 'failed')
  assert.match(done.steps[0]?.error ?? '', /may do nothing any more/)
  assert.deepEqual((await kit.admin.listLocks()).items, [])
})

test('of twenty who undo one run at once, on two replicas, one does', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const device = await enroll(kit, 'laptop')
  const { run } = await kit.admin.runPlaybook({
    body: { playbook: 'lost_device', params: { device_id: device.id, revoke: false } },
  })
  const params = { workflow_run_id: run.workflow_run_id! }
  const by = (i: number) => kit.clientFor(kit.adminKey, kit.replicas[i % 2])
  const undone = await times(20, (i) => by(i).changePlaybookRun({ params, body: { operation: 'undo' } }))
  assert.equal(undone.filter((u) => u.changed).length, 1)
  assert.equal(new Set(undone.map((u) => u.run.workflow_run_id)).size, 1, 'all are shown the one that undoes')
  assert.equal((await audited(kit, 'lock.released')).length, 1)
  await assert.rejects(
    kit.admin.changePlaybookRun({ params, body: { operation: 'resume' } }),
    refused(422, /is succeeded can not be resumed/),
  )
})

test('what failed is tried again when somebody says so, and only that', async (t) => {
  const kit = await startKit(t)
  const chief = await makeUser(kit, 'chief', ['tenant_admin'])
  await makeUser(kit, 'another', ['tenant_admin'])
  const security = await kit.as('security_admin')
  const { run } = await security.runPlaybook({ body: { playbook: 'compromised_user', params: { user_id: chief } } })
  assert.deepEqual(
    run.steps.map((s) => s.status),
    ['failed', 'succeeded'],
    'the next step was worth trying',
  )
  assert.equal(run.status, 'failed')
  await kit.admin.revokeRole({ body: { user_id: chief, role: 'tenant_admin' } })
  const params = { workflow_run_id: run.workflow_run_id! }
  const resumed = await security.changePlaybookRun({ params, body: { operation: 'resume' } })
  assert.equal(resumed.run.status, 'succeeded', JSON.stringify(resumed.run.steps))
  assert.deepEqual(
    resumed.run.steps.map((s) => s.attempts),
    [2, 1],
  )
  assert.notEqual(resumed.run.evidence_digest, run.evidence_digest)
  assert.deepEqual((await kit.admin.listLocks()).items.length, 1)
})
