import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { makeGateway } from '../support/actors/gateways.ts'
import { refused } from '../support/clients/answers.ts'
import { addTelemetry } from '../support/database/aged-rows.ts'
import { connectOwner, countRows } from '../support/database/owner-connection.ts'
import { type Kit, runJob, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { placeHold, purgesOf } from '../support/domain/retention.ts'
import { abandonRuns, newRecipient } from '../support/domain/workflow-runs.ts'

const meOf = (kit: Kit, secret: string) => kit.clientFor(secret).unifiedPolicy({ query: {} })

test('gateways of a pool get new secrets that only the requester can read, and the old ones work until then', async (t) => {
  const kit = await startKit(t)
  const { pool, gateway, secret } = await makeGateway(kit, 'g1', 'pool')
  const key = newRecipient()
  const params = { pool_id: pool.pool_id, recipient: key.recipient }
  const body = { workflow: 'rotate_gateway_secrets', params }
  const { run } = await kit.admin.runWorkflow({ body })
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
  assert.deepEqual(run.steps[0]?.affects[0]?.id, gateway.gateway_id)
  const [first] = run.steps
  await meOf(kit, secret)

  // The state of a run whose replica ended after the change: its secret is lost, so a new one is created.
  await abandonRuns(kit)
  await runJob(kit.app, 'drive_workflows')
  const path = { workflow_run_id: run.workflow_run_id! }
  await until(async () => (await kit.admin.getWorkflowRun({ params: path })).status !== 'running', 'the run ends')
  const done = await kit.admin.getWorkflowRun({ params: path })
  assert.equal(done.status, 'succeeded', JSON.stringify(done.steps))
  const fresh = await key.open(done.steps[0]?.result.secret_jwe)
  await assert.rejects(meOf(kit, await key.open(first?.result.secret_jwe)), refused(401), 'the one that was lost')
  await meOf(kit, secret)
  await meOf(kit, fresh)
  await assert.rejects(meOf(kit, secret), refused(401), 'since the first use of the new one')
  assert.equal((await eventsOf(kit, 'gateway.secret_rotated')).length, 2)
  const { evidence } = await kit.admin.getWorkflowEvidence({ params: path })
  assert.ok(!evidence.includes('secret_jwe') && !kit.logs.some((line) => line.includes(fresh)))
  const sealed = async () => (await kit.admin.getWorkflowRun({ params: path })).steps[0]?.result.secret_jwe
  await runJob(kit.app, 'forget_what_is_over')
  assert.notEqual(await sealed(), undefined, 'it is there for a day')
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('workflow_steps')
      .set({ finished_at: sql`now() - interval '25 hours'` })
      .where('tenant_id', '=', kit.tenant)
      .execute(),
  )
  await runJob(kit.app, 'forget_what_is_over')
  assert.equal(await sealed(), undefined, 'and no longer')

  const off = { ...key.recipient, y: key.recipient.x }
  await assert.rejects(
    kit.admin.runWorkflow({ body: { ...body, params: { ...params, recipient: off } } }),
    refused(422, /recipient: must be a public P-256 key/),
  )
  await assert.rejects((await kit.as('viewer')).runWorkflow({ body }), refused(403))
  await assert.rejects((await kit.as('security_admin')).runWorkflow({ body }), refused(403))
})

test('prune_retention purges at once by the retention rules, and needs audit:write', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  await owner.query(`set session_replication_role = replica;
    insert into retention_settings (tenant_id, days, updated_at, settles_at)
      values ('${kit.tenant}', '{"telemetry": 7}', now(), 'epoch');
    update retention_periods set settles_at = 'epoch';
    set session_replication_role = default`)
  await addTelemetry(owner, kit.tenant, 10, 30)
  const body = { workflow: 'prune_retention' }
  const planned = await kit.admin.runWorkflow({ body: { ...body, dry_run: true } })
  assert.match(planned.run.steps[0]?.summary ?? '', /telemetry 30/)
  await assert.rejects((await kit.as('operator')).runWorkflow({ body }), refused(403, /audit:write/))
  assert.equal(await countRows(owner, 'telemetry_events'), 30)

  const hold = await placeHold(kit.admin, { classes: ['telemetry'] })
  const held = await kit.admin.runWorkflow({ body })
  assert.deepEqual(held.run.steps[0]?.result, { purged: {} }, 'a hold keeps it')
  await kit.admin.releaseLegalHold({ params: { legal_hold_id: hold.legal_hold_id }, body: { reason: 'settled' } })
  await owner.query(`set session_replication_role = replica;
    update legal_holds set released_at = released_at - interval '25 hours';
    set session_replication_role = default`)

  const { run } = await kit.admin.runWorkflow({ body })
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
  assert.deepEqual(run.steps[0]?.result, { purged: { telemetry: 30 } })
  assert.equal(await countRows(owner, 'telemetry_events'), 0)
  assert.deepEqual(
    (await purgesOf(kit.admin, 'telemetry')).map((e) => e.count),
    [30],
  )
})
