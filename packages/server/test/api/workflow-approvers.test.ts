import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeUser, passwordOf, signInAs } from '../support/actors/people.ts'
import { startKit } from '../support/deployment/deployment.ts'

test('an administrator created by the requester with the tenant cannot approve', async (t) => {
  const kit = await startKit(t)
  await makeUser(kit, 'ada', ['platform_admin'])
  const ada = await signInAs(kit, 'ada')
  const made = await ada.post('/v1/admin/tenants/lifecycle', {
    operation: 'create',
    tenant: { name: 'second' },
    administrator: { username: 'boss', password: passwordOf('second/boss') },
  })
  assert.equal(made.status, 201, made.text)
  const of = `tenant_id=${made.json.tenant.tenant_id}`
  const signers = await ada.get(`/v1/admin/settings/signers?purpose=policy&${of}`)
  const asked = await ada.post(`/v1/admin/incident/playbook?${of}`, {
    playbook: 'signing_key_compromise',
    params: { signer_id: signers.json.items[0].signer_id },
    reason: 'found on a forum',
  })
  assert.equal(asked.json.run?.status, 'awaiting_approval', asked.text)
  const boss = await signInAs(kit, 'second/boss')
  const path = `/v1/admin/incident/runs/${asked.json.run.workflow_run_id}`
  const approval = await boss.post(path, { operation: 'approve' })
  assert.deepEqual([approval.status, approval.json.error], [403, 'forbidden'], approval.text)
  assert.match(approval.text, /created your account/)
})
