import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import { enroll } from '../support/actors/devices.ts'
import { createAuthenticator, makeUser, passwordOf, signInAs } from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { createClock, type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { inbox } from '../support/domain/notifications.ts'
import { publish, rule } from '../support/domain/policy.ts'
import { followingGateways } from '../support/domain/workflow-runs.ts'

const everybody = [rule('all', { any: true }, ['pool'])]

test('workflows and playbooks', async (t) => {
  const kit = await startKit(t)
  await t.test('lost_device runs from the request to the confirmation by the gateways', () => lostDevice(kit))
  await t.test('an invalid request is refused by name', () => refuseInvalid(kit))
  await t.test('an approval needs a second person', () => approveByAnother(kit))
  await t.test('a workflow cannot do more than its requester', () => refuseForbidden(kit))
})

test('timed workflows and their changes', async (t) => {
  // The clock of a replica plays no role.
  const ahead = createClock(600_000)
  const kit = await startKit(t, { now: ahead.now })
  await t.test('an undo reverts what it can, once, and by itself at its time', () => undoOnce(kit, ahead))
  await t.test('a run without approval expires, and cannot be approved afterwards', () => expireWithoutApproval(kit))
  await t.test('policy workflows promote and roll back', () => promoteAndRollBack(kit))
})

async function lostDevice(kit: Kit): Promise<void> {
  const gateways = await followingGateways(kit, 2)
  await publish(kit, everybody)
  const device = await enroll(kit, 'laptop')
  const kept = await enroll(kit, 'kept')
  assert.equal((await device.client.policyDigest()).channel, 'stable')

  const planned = await kit.admin.runPlaybook({
    body: { playbook: 'lost_device', params: { device_id: device.id }, dry_run: true },
  })
  assert.equal(planned.run.status, 'planned')
  assert.equal(planned.run.workflow_run_id, null)
  assert.deepEqual(
    planned.run.steps.map((s) => [s.action, s.status, s.affects]),
    [
      ['changeDevice', 'pending', [{ type: 'device', id: device.id, name: 'laptop' }]],
      ['confirm_gateways', 'pending', []],
    ],
  )
  assert.equal(
    (await kit.admin.getDevice({ params: { device_id: device.id } })).status,
    'active',
    'a dry run does nothing',
  )
  assert.deepEqual((await kit.admin.listWorkflowRuns()).items, [])

  const { run } = await kit.admin.runPlaybook({
    body: { playbook: 'lost_device', params: { device_id: device.id }, reason: 'left on a train' },
  })
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
  assert.equal(run.steps[1]?.result.confirmed, 2)
  for (const { gateway } of gateways) assert.deepEqual([...gateway.state!.peers.keys()], [kept.id])
  await assert.rejects(device.client.policyDigest(), refused(401))

  const { evidence, evidence_digest, request_id } = await kit.admin.getWorkflowEvidence({
    params: { workflow_run_id: run.workflow_run_id! },
  })
  assert.equal(createHash('sha256').update(evidence).digest('hex'), evidence_digest)
  assert.equal(run.evidence_digest, evidence_digest)
  const events = (await kit.admin.listAuditEvents({ query: { request_id } })).items
  assert.deepEqual(events.map((e) => e.kind).sort(), ['device.changed', 'workflow.finished'])
  const finished = events.find((e) => e.kind === 'workflow.finished') as { evidence_digest?: string } | undefined
  assert.equal(finished?.evidence_digest, evidence_digest)
  const again = await kit.admin.runPlaybook({ body: { playbook: 'lost_device', params: { device_id: device.id } } })
  assert.equal(again.run.steps[0]?.result.changed, false, 'a device that is revoked stays so')
}

async function refuseInvalid(kit: Kit): Promise<void> {
  const run = (body: object) => kit.admin.runWorkflow({ body: body as { workflow: string } })
  await assert.rejects(run({ workflow: 'no_such' }), refused(422, /workflow: must be one of offboard_user/))
  await assert.rejects(run({ workflow: 'lost_device' }), refused(422), 'a playbook is no workflow')
  await assert.rejects(run({ workflow: 'offboard_user', params: { who: 1 } }), refused(422, /params\.user_id/))
  await assert.rejects(run({ workflow: 'offboard_user', params: { user_id: 'usr_x' } }), refused(404))
  await assert.rejects(run({ workflow: 'promote_canary' }), refused(422, /no canary/))
  await assert.rejects(
    run({ workflow: 'rotate_trust_anchors', undo_after_seconds: 3600 }),
    refused(422, /undo_after_seconds: .*no step of this workflow can be undone/),
  )
  const [root] = (await kit.admin.listSigners({ query: { purpose: 'ca-root', state: 'active' } })).items
  await assert.rejects(
    kit.admin.runPlaybook({ body: { playbook: 'signing_key_compromise', params: { signer_id: root!.signer_id } } }),
    refused(422, /signer_id: is the active trust anchor/),
  )
  await assert.rejects(kit.admin.runPlaybook({ body: { workflow: 'release_lockdown' } }), refused(422, /not locked/))
  const both = { workflow: 'lockdown', playbook: 'lockdown' }
  await assert.rejects(
    kit.admin.runPlaybook({ body: both }),
    refused(422, /^playbook: cannot be combined with workflow/),
  )
  await assert.rejects(kit.admin.runPlaybook({ body: {} }), refused(422, /^workflow: is required/))
}

async function approveByAnother(kit: Kit): Promise<void> {
  await makeUser(kit, 'ada', ['tenant_admin'])
  await makeUser(kit, 'bob', ['tenant_admin'])
  await makeUser(kit, 'eve', ['security_admin'])
  const [ada, bob, eve] = [await signInAs(kit, 'ada'), await signInAs(kit, 'bob'), await signInAs(kit, 'eve')]
  const before = (await kit.admin.listSigners({ query: { purpose: 'policy', state: 'active' } })).items[0]!
  const asked = await ada.post('/v1/admin/incident/playbook', {
    playbook: 'signing_key_compromise',
    params: { signer_id: before.signer_id },
    reason: 'found on a forum',
  })
  const { run } = asked.json
  assert.equal(run.status, 'awaiting_approval', asked.text)
  assert.equal(asked.status, 202, 'it has not ended')
  assert.equal((await kit.admin.listPlaybooks()).runs[0]?.workflow_run_id, run.workflow_run_id)
  const [told, ...others] = await inbox(kit)
  assert.deepEqual([told?.kind, told?.subject.id, others], ['workflow.awaiting_approval', run.workflow_run_id, []])
  assert.match(told?.detail ?? '', /^ada requested it \(found on a forum\)\./)
  const change = `/v1/admin/incident/runs/${run.workflow_run_id}`
  assert.equal((await ada.post(change, { operation: 'approve' })).status, 403, 'not by themselves')
  await assert.rejects(
    kit.admin.changePlaybookRun({ params: { workflow_run_id: run.workflow_run_id }, body: { operation: 'approve' } }),
    refused(403),
    'not by a key',
  )
  await assert.rejects(
    kit.admin.changeWorkflowRun({ params: { workflow_run_id: run.workflow_run_id }, body: { operation: 'approve' } }),
    refused(404),
    'a playbook is no workflow',
  )
  // Accounts that the requester made, or let in, are no second person.
  const helpers = {
    made: async (name: string) => {
      const { user_id } = (
        await ada.post('/v1/admin/users/lifecycle', { operation: 'create', user: { username: name } })
      ).json.user
      await kit.admin.grantRole({ body: { user_id, role: 'security_admin' } })
      await kit.admin.changePassword({ body: { user_id, new_password: passwordOf(name) } })
    },
    'password set': async (name: string) => {
      const user_id = await makeUser(kit, name, ['security_admin'])
      await ada.post('/v1/admin/users/password', { user_id, new_password: passwordOf(name) })
    },
    'factor set': async (name: string) => {
      const user_id = await makeUser(kit, name, ['security_admin'])
      const { secret } = (await ada.post('/v1/admin/users/totp/enroll', { user_id })).json
      await ada.post('/v1/admin/users/totp/verify', { user_id, code: createAuthenticator(secret).code() })
      await kit.admin.disableTotp({ body: { user_id } })
    },
    'by a key of hers': async (name: string) => {
      const user_id = await makeUser(kit, name, ['security_admin'])
      const made = await ada.post('/v1/admin/api-keys', { name, role: 'tenant_admin' })
      const key = kit.clientFor(String(made.json.secret))
      await key.changePassword({ body: { user_id, new_password: passwordOf(name) } })
    },
  }
  for (const [how, help] of Object.entries(helpers)) {
    const name = `helper-${how.replaceAll(' ', '-')}`
    await help(name)
    const approval = await (await signInAs(kit, name)).post(change, { operation: 'approve' })
    assert.deepEqual([approval.status, approval.json.error], [403, 'forbidden'], `${how}: ${approval.text}`)
    assert.match(approval.text, /created your account/, how)
  }
  const status = async () => (await kit.admin.getSigner({ params: { signer_id: before.signer_id } })).state
  assert.equal(await status(), 'active')
  const approvals = await times(6, (i) => (i % 2 ? bob : eve).post(change, { operation: 'approve' }))
  assert.deepEqual(new Set(approvals.map((a) => a.status)), new Set([200]))
  assert.equal(approvals.filter((a) => a.json.changed).length, 1)
  assert.deepEqual(await inbox(kit), [])
  assert.notEqual(await status(), 'active')
  const done = await kit.admin.getWorkflowRun({ params: { workflow_run_id: run.workflow_run_id } })
  assert.equal(done.status, 'succeeded', JSON.stringify(done.steps))
  assert.ok(['bob', 'eve'].includes(done.approved_by?.name ?? ''))
}

async function refuseForbidden(kit: Kit): Promise<void> {
  const user_id = await makeUser(kit, 'lena')
  const device = await enroll(kit, 'laptop', { user_id })
  const operator = await kit.as('operator')
  const security = await kit.as('security_admin')
  const offboard = { workflow: 'offboard_user', params: { user_id } } as const
  await assert.rejects(
    operator.runWorkflow({ body: offboard }),
    refused(403, /suspendUser needs the permission users:write/),
  )
  await assert.rejects(operator.runWorkflow({ body: { ...offboard, dry_run: true } }), refused(403))
  await assert.rejects(security.runWorkflow({ body: offboard }), refused(403))
  const compromised = { playbook: 'compromised_user', params: { user_id, suspend: true } } as const
  await assert.rejects(security.runPlaybook({ body: compromised }), refused(403, /users:write/))
  assert.equal((await kit.admin.getDevice({ params: { device_id: device.id } })).status, 'active')
  assert.equal((await kit.admin.getUser({ params: { user_id } })).status, 'active', 'refused before its first step')

  // A user who may not be stopped is refused before anything runs.
  const chief = await makeUser(kit, 'chief', ['tenant_admin'])
  for (const dry_run of [true, false])
    await assert.rejects(
      security.runPlaybook({ body: { playbook: 'compromised_user', params: { user_id: chief }, dry_run } }),
      refused(403, /has permissions that you do not have/),
    )

  const offboarded = await kit.admin.runWorkflow({ body: offboard })
  assert.equal(offboarded.run.status, 'succeeded')
  assert.equal((await kit.admin.getDevice({ params: { device_id: device.id } })).status, 'revoked')
}

async function promoteAndRollBack(kit: Kit): Promise<void> {
  await publish(kit, [rule('first', { any: true })])
  const policy = { schema: 'holdfast.policy/1', rules: [rule('second', { any: true })] }
  await kit.admin.publishPolicy({ body: { channel: 'canary', policy } })
  const promoted = await kit.admin.runWorkflow({ body: { workflow: 'promote_canary' } })
  assert.equal(promoted.run.status, 'succeeded', JSON.stringify(promoted.run.steps))
  const stable = async () => (await kit.admin.listPolicyBundles({ query: { channel: 'stable' } })).items
  assert.deepEqual(
    (await stable()).map((b) => b.version),
    [3, 1],
  )
  const rolledBack = await kit.admin.runWorkflow({ body: { workflow: 'rollback_policy' } })
  assert.equal(rolledBack.run.status, 'succeeded', JSON.stringify(rolledBack.run.steps))
  const [now, , first] = await stable()
  assert.equal(now?.digest, first?.digest)
}

async function undoOnce(kit: Kit, ahead: ReturnType<typeof createClock>): Promise<void> {
  const user_id = await makeUser(kit, 'ada')
  const device = await enroll(kit, 'laptop', { user_id, now: ahead.now })
  const params = { user_id, suspend: true }
  const { run } = await kit.admin.runPlaybook({
    body: { playbook: 'compromised_user', params, undo_after_seconds: 300 },
  })
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
  assert.notEqual(run.undo_at, null)
  await assert.rejects(device.client.policyDigest(), refused(401))
  const [lock] = (await kit.admin.listLocks()).items
  assert.deepEqual([lock?.target.id, lock?.status], [user_id, 'active'])

  await runJob(kit.app, 'drive_workflows')
  assert.equal((await kit.admin.listLocks()).items.length, 1, 'not before its time')
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx.updateTable('workflow_runs').set({ undo_at: sql`now()` }).where('tenant_id', '=', kit.tenant).execute(),
  )
  await runJob(kit.app, 'drive_workflows')
  const undoing = (await kit.admin.listWorkflowRuns()).items[0]!
  assert.equal(undoing.undo_of, run.workflow_run_id)
  const workflow_run_id = undoing.workflow_run_id!
  const again = await kit.admin.changePlaybookRun({
    params: { workflow_run_id: run.workflow_run_id! },
    body: { operation: 'undo' },
  })
  assert.deepEqual([again.changed, again.run.workflow_run_id], [false, workflow_run_id])
  assert.equal(again.run.status, 'succeeded', JSON.stringify(again.run.steps))
  assert.deepEqual(
    again.run.steps.map((s) => s.action),
    ['reactivateUser', 'releaseLock', 'confirm_gateways'],
  )
  assert.deepEqual((await kit.admin.listLocks()).items, [])
  assert.equal((await device.client.policyDigest()).channel, 'stable')
  const revoked = await kit.admin.runPlaybook({ body: { playbook: 'lost_device', params: { device_id: device.id } } })
  await assert.rejects(
    kit.admin.changePlaybookRun({
      params: { workflow_run_id: revoked.run.workflow_run_id! },
      body: { operation: 'undo' },
    }),
    refused(422, /no completed step of the run can be undone/),
  )
}

async function expireWithoutApproval(kit: Kit): Promise<void> {
  await makeUser(kit, 'bob', ['tenant_admin'])
  const bob = await signInAs(kit, 'bob')
  const body = { workflow: 'rotate_trust_anchors', params: { mode: 'emergency' } }
  const { run } = await kit.admin.runWorkflow({ body })
  assert.equal(run.status, 'awaiting_approval')
  assert.ok(Math.abs(Date.parse(run.approval_expires_at ?? '') - Date.now() - 86_400_000) < 60_000)
  const params = { workflow_run_id: run.workflow_run_id! }
  const status = async () => (await kit.admin.getWorkflowRun({ params })).status
  await runJob(kit.app, 'drive_workflows')
  assert.equal(await status(), 'awaiting_approval')
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('workflow_runs')
      .set({ approval_expires_at: sql`now()` })
      .where('tenant_id', '=', kit.tenant)
      .where('status', '=', 'awaiting_approval')
      .execute(),
  )
  const late = await bob.post(`/v1/admin/workflows/runs/${run.workflow_run_id}`, { operation: 'approve' })
  assert.deepEqual([late.status, await status()], [422, 'awaiting_approval'], late.text)
  assert.equal((await inbox(kit)).length, 1)
  await runJob(kit.app, 'drive_workflows')
  assert.equal(await status(), 'cancelled')
  assert.deepEqual(await inbox(kit), [])
  const [event] = await eventsOf(kit, 'workflow.changed')
  assert.deepEqual([event?.actor.type, event?.details], ['job', { reason: 'the run was not approved within a day' }])
}
