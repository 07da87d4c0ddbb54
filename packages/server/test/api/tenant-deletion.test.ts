import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { refusedWith } from '../support/actors/sign-in.ts'
import { bearer, call, deviceCaller, enrollRaw, operation } from '../support/clients/api-calls.ts'
import { send } from '../support/clients/raw-http.ts'
import { ask, connectOwner, count } from '../support/database/retention.ts'
import { createClock, runJob, startKit } from '../support/deployment/deployment.ts'
import { janesPassword, makeTenant } from '../support/deployment/tenants.ts'

test('a tenant is deleted after its delay, taken back until then; nothing of it is left but its tombstone and record', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const { tenant, client, id } = await makeTenant(kit, 'acme')
  const { tenant_id } = tenant
  const { secret: token } = await client.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token)
  // A session that a sweep will end.
  const jane = { username: 'acme/jane', password: janesPassword }
  assert.equal((await send(kit.url, { method: 'POST', path: '/admin/login', json: jane })).status, 200)
  const change = (operation: 'delete' | 'cancel_deletion' | 'reactivate', more = {}) =>
    kit.admin.changeTenant({ body: { operation, tenant_id, ...more } })

  const scheduled = await change('delete', { delay_seconds: 7200 })
  assert.equal(scheduled.tenant.status, 'deleting')
  assert.equal(Date.parse(scheduled.tenant.delete_after!) - clock.now().getTime() > 7_100_000, true)
  await assert.rejects(change('reactivate'), refusedWith(422, /cancel_deletion/))
  const told = await kit.admin.listNotifications({ query: { tenant_id } })
  assert.equal(told.items[0]?.kind, 'tenant.deletion_scheduled')
  assert.equal((await change('cancel_deletion')).tenant.status, 'active')
  await runJob(kit.app, 'delete_tenants')
  const poll = (at: Parameters<typeof call>[0]) =>
    call(at, operation('policyDigest'), deviceCaller(device.credential, device.key, clock.now))
  assert.equal((await poll(kit)).status, 200)

  await change('delete', { delay_seconds: 3600 })
  await runJob(kit.app, 'delete_tenants')
  assert.equal((await kit.admin.getTenant({ params: { tenant_id } })).status, 'deleting', 'not before its time')
  clock.advance(3601)
  await Promise.all(kit.replicas.map((r) => runJob(r.app, 'delete_tenants')))
  await kit.heard()
  for (const replica of kit.replicas) {
    const at = { ...kit, ...replica }
    const asked = await call(at, operation('getTenant'), bearer(kit.adminKey), undefined, '')
    assert.equal(asked.status, 404)
    assert.equal(
      (await call(at, operation('listUsers'), bearer(kit.adminKey), undefined, `?tenant_id=${tenant_id}`)).status,
      404,
    )
    assert.equal((await poll(at)).status, 401)
  }
  const made = await kit.admin.changeTenant({ body: { operation: 'create', tenant: { name: 'acme' } } })
  assert.notEqual(made.tenant.tenant_id, tenant_id, 'its name is free')
  // Until the erasure, jobs that visit all tenants still find its rows: none of them fails.
  for (const job of kit.app.jobs) await assert.doesNotReject(async () => job.run(), job.name)

  clock.advance(3600)
  await runJob(kit.app, 'delete_tenants')
  const left = await kit.db.acrossTenants(async (tx) => {
    const { rows: tables } = await sql<{ name: string }>`select c.relname as name from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relrowsecurity`.execute(
      tx,
    )
    const found: string[] = []
    for (const { name } of tables) {
      const { rows } = await sql`select from ${sql.table(name)} where tenant_id = ${id} limit 1`.execute(tx)
      if (rows.length > 0) found.push(name)
    }
    return found.sort()
  })
  assert.deepEqual(left, ['audit_counts', 'audit_heads', 'audit_log', 'tenants'])
  const events = await kit.admin.listAuditEvents({ query: { kind: 'tenant.changed', target_id: tenant_id } })
  assert.deepEqual(events.items.map((e) => (e as { operation?: string }).operation).sort(), [
    'cancel_deletion',
    'create',
    'delete',
    'delete',
    'erase',
  ])
})

test('a clock that leapt deletes no tenant and erases none until it is trusted again', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const owner = await connectOwner(kit)
  const { tenant, id } = await makeTenant(kit, 'acme')
  const body = { operation: 'delete', tenant_id: tenant.tenant_id, delay_seconds: 3600 } as const
  await kit.admin.changeTenant({ body })
  const leap = () =>
    owner.query(`insert into retention_clock (seen_at, trusted_from) values (now() - interval '40 days', '-infinity')
      on conflict (there_is_one) do update set seen_at = excluded.seen_at`)
  const trust = () => owner.query(`update retention_clock set seen_at = now(), trusted_from = '-infinity'`)
  const isAt = async (column: 'deleted_at' | 'erased_at') => {
    await runJob(kit.app, 'delete_tenants')
    return ask(owner, `select ${column} is not null as value from tenants where tenant_id = $1`, [id])
  }
  await leap()
  clock.advance(3601)
  assert.equal(await isAt('deleted_at'), false)
  const entomb = owner.query('update tenants set deleted_at = now() where tenant_id = $1', [id])
  await assert.rejects(entomb, /the clock is not trusted/, 'whoever asks')
  await trust()
  assert.equal(await isAt('deleted_at'), true)
  await leap()
  clock.advance(3600)
  assert.equal(await isAt('erased_at'), false)
  assert.ok((await count(owner, 'users', `tenant_id = '${id}'`)) > 0)
  await trust()
  assert.equal(await isAt('erased_at'), true)
})
