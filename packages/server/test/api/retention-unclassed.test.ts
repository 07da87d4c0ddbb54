import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectOwner, count, forget, placeHold, releaseHold, settle } from '../support/database/retention.ts'
import { startKit } from '../support/deployment/deployment.ts'

const long = `now() - interval '401 days'`
const rows = {
  locks: `insert into locks (tenant_id, lock_id, target_type, target_id, reason, created_by, created_at, released_at, released_by)
    values ($1, $1, 'user', $1, '', '{}', ${long}, ${long}, '{}')`,
  directory_runs: `insert into directory_runs (tenant_id, run_id, provider, snapshot_id, generated_at, status, counts, started_at)
    values ($1, $1, '', '', ${long}, 'applied', '{}', ${long})`,
  workflow_runs: `insert into workflow_runs (tenant_id, workflow_run_id, kind, workflow, params, status, second_approver,
      requested_by, seq_before, claimed_until, created_at, finished_at, evidence_digest)
    values ($1, $1, 'workflow', '', '{}', 'succeeded', false, '{}', 0, ${long}, ${long}, ${long}, '')`,
  expiry_warnings: `insert into expiry_warnings (tenant_id, type, id, ends_at, days, cause, warned_at)
    values ($1, '', '', ${long}, 1, '', ${long})`,
}

test('what has no class goes by a trusted time only, and what tells of somebody not while a hold keeps all', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  await owner.query('set session_replication_role = replica')
  for (const insert of Object.values(rows)) await owner.query(insert, [kit.tenant])
  await owner.query('set session_replication_role = default')
  const left = async () => {
    await forget(kit)
    const there: string[] = []
    for (const table of Object.keys(rows)) if ((await count(owner, table)) > 0) there.push(table)
    return there
  }
  await owner.query(
    `insert into retention_clock (seen_at, trusted_from) values (now() - interval '40 days', '-infinity')`,
  )
  assert.deepEqual(await left(), Object.keys(rows), 'the clock leapt')
  const { legal_hold_id } = await placeHold(kit.admin)
  await owner.query(`update retention_clock set trusted_from = '-infinity'`)
  assert.deepEqual(await left(), ['locks', 'directory_runs', 'workflow_runs'])
  await releaseHold(kit.admin, legal_hold_id)
  await settle(owner)
  await placeHold(kit.admin, { classes: ['audit'] })
  assert.deepEqual(await left(), [])
})
