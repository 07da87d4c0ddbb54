import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeId } from '../../src/kernel/ids.ts'
import { enroll } from '../support/actors/devices.ts'
import { makeGateway, newWireguardKey } from '../support/actors/gateways.ts'
import { makeUser } from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { holdTable } from '../support/database/table-lock.ts'
import { createClock, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { publish, rule } from '../support/domain/policy.ts'
import {
  abandonRuns,
  driveWorkflows,
  lockDevice,
  makeSlowGateway,
  newRecipient,
  untilRunEnds,
} from '../support/domain/workflow-runs.ts'

test('a run left by a replica is continued by one of two others, and no step is repeated', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await publish(kit, [rule('first', { any: true })])
  await publish(kit, [rule('second', { any: true })])
  const { run } = await kit.admin.runWorkflow({ body: { workflow: 'rollback_policy' } })
  assert.equal(run.status, 'succeeded')
  await abandonRuns(kit)
  await driveWorkflows(kit, 10)
  const done = await untilRunEnds(kit, run.workflow_run_id)
  assert.equal(done.status, 'succeeded', JSON.stringify(done.steps))
  assert.deepEqual([done.steps[0]?.attempts, done.steps[0]?.result], [2, { made_before: true }])
  assert.equal((await eventsOf(kit, 'policy.published')).length, 3, 'two by hand, one by the run')
  assert.equal((await eventsOf(kit, 'workflow.finished')).length, 2, 'each end of it is on record')
})

test('a stopping replica releases a run between two steps, and another continues it', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { pool } = await makeGateway(kit, 'g1', 'pool')
  for (const name of ['g2', 'g3'])
    await kit.admin.createGateway({ params: { pool_id: pool.pool_id }, body: { name, public_key: newWireguardKey() } })
  const params = { pool_id: pool.pool_id, recipient: newRecipient().recipient }
  const { run } = await kit.admin.runWorkflow({ body: { workflow: 'rotate_gateway_secrets', params } })
  await abandonRuns(kit)
  const held = await holdTable(kit, 'gateway_secrets')
  const { app, stop } = kit.replicas[1]!
  await runJob(app, 'drive_workflows')
  await held.waits(1)
  const stopping = stop()
  await until(() => !app.http.server.listening, 'it takes no connection any more')
  await held.letGo()
  await stopping
  const left = await kit.admin.getWorkflowRun({ params: { workflow_run_id: run.workflow_run_id! } })
  assert.deepEqual(
    left.steps.map((s) => s.status),
    ['succeeded', 'pending', 'pending'],
  )
  await runJob(kit.app, 'drive_workflows')
  assert.equal((await untilRunEnds(kit, run.workflow_run_id)).status, 'succeeded')
})

test('a replica whose clock is ten minutes ahead takes over no run', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const user_id = await makeUser(kit, 'ada')
  const held = await holdTable(kit, 'users')
  const running = kit.admin.runWorkflow({ body: { workflow: 'offboard_user', params: { user_id } } })
  const leases = () =>
    kit.db.inTenant(kit.tenant, (tx) =>
      tx.selectFrom('workflow_runs').select('claimed_by').where('tenant_id', '=', kit.tenant).execute(),
    )
  await held.waits(1)
  const before = await leases()
  clock.advance(600)
  for (const { app } of kit.replicas) await runJob(app, 'drive_workflows')
  assert.deepEqual(await leases(), before)
  await held.letGo()
  const { run } = await running
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
  assert.deepEqual(new Set(run.steps.map((s) => s.attempts)), new Set([1]))
})

test('undoing a resumed suspension restores only the devices that it suspended', async (t) => {
  const kit = await startKit(t)
  const [stale, off] = [await enroll(kit, 'stale'), await enroll(kit, 'off')]
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('devices')
      .set({ enrolled_at: new Date(0) })
      .where('tenant_id', '=', kit.tenant)
      .execute(),
  )
  const suspend = (id: string) => kit.admin.changeDevice({ body: { operation: 'suspend', device_id: id } })
  const { run: planned } = await kit.admin.runWorkflow({ body: { workflow: 'expire_stale_devices', dry_run: true } })
  assert.equal(planned.steps[0]?.affects_count, 2)
  await suspend(off.id)
  const { run } = await kit.admin.runWorkflow({ body: { workflow: 'expire_stale_devices' } })
  await abandonRuns(kit)
  await driveWorkflows(kit, 1)
  const done = await untilRunEnds(kit, run.workflow_run_id)
  assert.equal(done.steps[0]?.result.made_before, true)
  const params = { workflow_run_id: run.workflow_run_id! }
  const undone = await kit.admin.changeWorkflowRun({ params, body: { operation: 'undo' } })
  assert.equal(undone.run.status, 'succeeded', JSON.stringify(undone.run.steps))
  const statusOf = async (device_id: string) => (await kit.admin.getDevice({ params: { device_id } })).status
  assert.deepEqual([await statusOf(stale.id), await statusOf(off.id)], ['active', 'suspended'])
})

test('a repeated step finds its earlier effect, and how to undo it', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const device = await enroll(kit, 'laptop')
  const { run } = await kit.admin.runPlaybook({
    body: { playbook: 'lost_device', params: { device_id: device.id, revoke: false } },
  })
  const lock_id = run.steps[0]?.result.lock_id
  await abandonRuns(kit)
  await driveWorkflows(kit, 10)
  const done = await untilRunEnds(kit, run.workflow_run_id)
  assert.deepEqual(done.steps[0]?.result, { changed: true, lock_id, made_before: true })
  assert.equal((await eventsOf(kit, 'lock.set')).length, 1)
  const undone = await kit.admin.changePlaybookRun({
    params: { workflow_run_id: run.workflow_run_id! },
    body: { operation: 'undo' },
  })
  assert.equal(undone.run.status, 'succeeded', JSON.stringify(undone.run.steps))
  assert.deepEqual((await kit.admin.listLocks()).items, [])
})

test('no run continues in a suspended tenant', async (t) => {
  const kit = await startKit(t)
  const tenant = await kit.newTenant('other')
  const secret = await kit.keyFor('tenant_admin', tenant)
  const { run } = await kit.clientFor(secret).runPlaybook({ body: { playbook: 'lockdown' } })
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
  const tenant_id = encodeId('tenant', tenant)
  await kit.admin.changeTenant({ body: { operation: 'suspend', tenant_id } })
  await kit.heard()
  await abandonRuns(kit, tenant)
  await kit.db.inTenant(tenant, (tx) => tx.deleteFrom('idempotency_keys').where('tenant_id', '=', tenant).execute())
  await driveWorkflows(kit, 1)
  const steps = () =>
    kit.db.inTenant(tenant, (tx) =>
      tx.selectFrom('workflow_steps').select('error').where('tenant_id', '=', tenant).where('step', '=', 1).execute(),
    )
  await until(async () => (await steps())[0]?.error !== null, 'the step fails')
  assert.deepEqual(await steps(), [{ error: 'the requester no longer has access' }])
})

test('of twenty concurrent undos of one run on two replicas, one takes effect', async (t) => {
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
  assert.equal((await eventsOf(kit, 'lock.released')).length, 1)
  await assert.rejects(
    kit.admin.changePlaybookRun({ params, body: { operation: 'resume' } }),
    refused(422, /is succeeded: only a failed run can be resumed/),
  )
})

test('of twenty concurrent equal runs one changes the device', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const device = await enroll(kit, 'laptop')
  const runs = await times(20, (i) =>
    kit
      .clientFor(kit.adminKey, kit.replicas[i % 2])
      .runPlaybook({ body: { playbook: 'lost_device', params: { device_id: device.id } } }),
  )
  assert.deepEqual(new Set(runs.map(({ run }) => run.status)), new Set(['succeeded']))
  const changed = runs.filter(({ run }) => run.steps[0]?.result.changed === true)
  assert.equal(changed.length, 1, 'one of them revoked it')
  assert.equal((await kit.admin.listAuditEvents({ query: { kind: 'device.changed' } })).items.length, 1)
})

test('runs that wait for a gateway do not block other runs', async (t) => {
  const kit = await startKit(t)
  const gateway = await makeSlowGateway(kit)
  const devices = await times(6, (i) => enroll(kit, `device ${i}`))
  const running = Promise.all(devices.map(({ id }) => lockDevice(kit, id)))
  await until(async () => (await kit.admin.listLocks()).items.length === devices.length, 'all are locked')
  await gateway.pull()
  gateway.confirm()
  await gateway.heartbeat({ active_sessions: 0 })
  assert.deepEqual(new Set((await running).map(({ run }) => run.status)), new Set(['succeeded']))
})
