import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeRetention } from '@holdfast/sdk'
import { configureKept } from '../../src/db/kept.ts'
import {
  ageRecord,
  ask,
  connectOwner,
  count,
  forget,
  placeHold,
  releaseHold,
  settle,
} from '../support/database/retention.ts'
import { createClock, runJob, startKit } from '../support/deployment/deployment.ts'
import { makeTenant } from '../support/deployment/tenants.ts'
import { until } from '../support/deployment/wait-until.ts'

test('a tenant with a hold is not deleted; of one that was, the record goes in its time', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const owner = await connectOwner(kit)
  const { tenant, id } = await makeTenant(kit, 'acme')
  const { tenant_id } = tenant
  const query = { tenant_id }
  await changeRetention(kit.admin, { audit: 100 }, { query })
  await kit.admin.changeTenant({ body: { operation: 'delete', tenant_id, delay_seconds: 3600 } })
  const { legal_hold_id } = await placeHold(kit.admin, { classes: ['vpn_sessions'] }, { query })
  clock.advance(7200)
  const statusOf = async () => {
    await runJob(kit.app, 'delete_tenants')
    return ask(owner, 'select deleted_at is not null as value from tenants where tenant_id = $1', [id])
  }
  assert.equal(await statusOf(), false)
  const deletion = owner.query('update tenants set deleted_at = now() where tenant_id = $1', [id])
  await assert.rejects(deletion, /a legal hold keeps the tenant/, 'whoever asks')
  await releaseHold(kit.admin, legal_hold_id, { query })
  assert.equal(await statusOf(), false, 'a release can be put right for a day')
  await settle(owner)
  assert.equal(await statusOf(), true)
  clock.advance(3600)
  await runJob(kit.app, 'delete_tenants')

  const places = () => count(owner, 'audit_log', `tenant_id = '${id}'`)
  await configureKept(kit.databaseUrl, {
    audit: 365,
    vpn_sessions: 90,
    telemetry: 30,
    metering: 400,
    revoked_devices: 90,
  })
  await settle(owner)
  const had = await places()
  await forget(kit)
  assert.deepEqual([await places(), had > 0], [had, true])
  await ageRecord(owner, `tenant_id = '${id}'`, '200 days')
  await forget(kit)
  assert.equal(await places(), 0, 'by the days that it had set, and nothing new is said in it')
  assert.deepEqual(
    (await owner.query('select class, unrecorded::int from retention_purges where tenant_id = $1', [id])).rows,
    [{ class: 'audit', unrecorded: had }],
  )
  await owner.query(`update audit_counts set hour = hour - interval '401 days' where tenant_id = $1`, [id])
  await forget(kit)
  assert.equal(await count(owner, 'audit_counts', `tenant_id = '${id}'`), 0, 'what was counted of it, too')
})

test('a hold that comes with the deletion of its tenant is not answered', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  const deleting = await connectOwner(kit)
  const { tenant, id } = await makeTenant(kit, 'acme')
  await owner.query('select check_clock(now())')
  await deleting.query(`begin; select admit_purge(); update tenants set deleted_at = now() where tenant_id = '${id}'`)
  const placing = placeHold(kit.admin, {}, { query: { tenant_id: tenant.tenant_id } })
  const refused = assert.rejects(placing, /no such tenant/)
  await until(
    async () => (await count(owner, 'pg_locks', `locktype = 'advisory' and objid = 7264490 and not granted`)) > 0,
  )
  await deleting.query('commit')
  await refused
  assert.equal(await count(owner, 'legal_holds'), 0)
})
