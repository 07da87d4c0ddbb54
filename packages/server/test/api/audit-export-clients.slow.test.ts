import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClient } from '../support/database/test-database.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { deliveryLimitMs, until } from '../support/deployment/wait-until.ts'
import { readNdjson, signedManifest } from '../support/domain/audit-exports.ts'
import { eventOf } from '../support/domain/hostile-events.ts'

async function fill(kit: Pick<Kit, 'databaseUrl' | 'tenant' | 'admin'>, count: number): Promise<void> {
  await withClient(kit.databaseUrl, async (client) => {
    await client.query(
      `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, actor_name, target_id, target_name,
         source_ip, request_id, record)
       select $1, id, (record::jsonb ->> 'timestamp')::timestamptz, 'user.changed', record::jsonb ->> 'outcome',
         record::jsonb #>> '{actor,id}', record::jsonb #>> '{actor,name}', record::jsonb #>> '{target,id}',
         record::jsonb #>> '{target,name}', record::jsonb ->> 'source_ip', record::jsonb ->> 'request_id', record
       from generate_series(1, $2::integer) as i, lateral (select gen_random_uuid() as id where i > 0) as made,
         lateral (select regexp_replace(replace($3, 'ID', id::text), '"event_id":"[^"]*"',
           '"event_id":"' || type_id('evt', id) || '"') as record) as written`,
      [kit.tenant, count, eventOf('user.changed', { operation: 'x'.repeat(8000), user_id: 'ID' }).record],
    )
    await client.query(`select set_config('holdfast.tenant', $1, false)`, [kit.tenant])
    for (let isLeft = true; isLeft; ) {
      const { rows } = await client.query<{ count: number | null }>('select sequence_audit(1000) as count')
      isLeft = rows[0]?.count !== 0
    }
  })
}
const url = (kit: Pick<Kit, 'url'>, query = 'format=ndjson') => `${kit.url}/v1/admin/audit/export?${query}`
const startExport = (kit: Pick<Kit, 'url' | 'adminKey'>, signal?: AbortSignal) =>
  fetch(url(kit), { headers: { authorization: `Bearer ${kit.adminKey}` }, ...(signal && { signal }) })
const endedExports = async (kit: Pick<Kit, 'admin'>) =>
  (await kit.admin.listAuditEvents({ query: { kind: 'audit.exported' } })).items

test('a client that reads nothing holds no connection or transaction and is cut; a disconnect ends the reading', async (t) => {
  const kit = await startKit(t, { pace: { graceMs: 1500, bytesPerSecond: 100_000_000 } })
  await fill(kit, 2000)
  const stop = new AbortController()
  const [slow, gone] = [await startExport(kit), await startExport(kit, stop.signal)]
  assert.deepEqual([slow.status, gone.status], [200, 200])
  await gone.body!.getReader().read()
  await withClient(kit.databaseUrl, async (client) => {
    const busy = `select count(*)::integer as n from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state like '%transaction%'`
    await until(async () => (await client.query<{ n: number }>(busy)).rows[0]!.n === 0)
  })
  stop.abort()
  await until(async () => (await endedExports(kit)).length === 1)
  await until(async () => (await endedExports(kit)).length === 2)
  await assert.rejects(slow.text(), 'cut, so that nobody takes it for the whole')
  for (const { outcome, details, ...said } of await endedExports(kit)) {
    const { events } = said as unknown as { events: number }
    assert.equal(outcome, 'failed')
    assert.ok(events > 0 && events < 2000, `${events}`)
    assert.equal(details!.last_seq, events)
    assert.equal(details!.cause, 'not_taken')
  }
})

test('a tenant has at most two exports at once, further ones get 429, and each end frees a place', async (t) => {
  const kit = await startKit(t)
  await fill(kit, 2000)
  const stops = [new AbortController(), new AbortController()]
  const both = await Promise.all(stops.map((stop) => startExport(kit, stop.signal)))
  assert.deepEqual(
    both.map((r) => r.status),
    [200, 200],
  )
  const third = await startExport(kit)
  assert.deepEqual([third.status, third.headers.get('retry-after')], [429, '10'])
  assert.match(((await third.json()) as { detail: string }).detail, /exports/)
  const other = await kit.newTenant()
  const theirs = kit.clientFor(await kit.keyFor('auditor', other))
  assert.ok((await Array.fromAsync(await theirs.exportAudit({ query: {} }))).length > 0, 'others are not held up')
  stops[0]!.abort()
  await until(async () => (await startExport(kit, AbortSignal.timeout(5000))).status === 200)
  const { events, signed } = readNdjson(await both[1]!.text())
  assert.equal(signed.manifest.events, events.length)
  const started = await kit.admin.listAuditEvents({ query: { kind: 'audit.export_started' } })
  assert.equal(started.items.length, 3, 'a refused export was not started')
})

test('a stopping replica cuts its exports without waiting, and other replicas continue', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await fill(kit, 2000)
  const [here, there] = kit.replicas
  const [cut, kept] = [await startExport({ ...kit, ...there! }), await startExport({ ...kit, ...here! })]
  const stopping = performance.now()
  await there!.stop()
  assert.ok(performance.now() - stopping < deliveryLimitMs)
  const [failed, ...others] = await endedExports(kit)
  assert.deepEqual(
    [others, failed!.outcome, failed!.details!.cause],
    [[], 'failed', 'stopping'],
    'on record before the replica is gone',
  )
  await assert.rejects(cut.text())
  const { signed } = readNdjson(await kept.text())
  assert.deepEqual(await signedManifest(kit, signed), signed.manifest)
  assert.deepEqual(
    kit.logs.filter((line) => line.includes('error')),
    [],
  )
})

test('a purge that overtakes an export cuts it, and no incomplete export is signed', async (t) => {
  const kit = await startKit(t)
  await fill(kit, 2000)
  const overtaken = await startExport(kit)
  assert.equal(overtaken.status, 200)
  await withClient(kit.databaseUrl, async (owner) => {
    await owner.query('set session_replication_role = replica')
    await owner.query('insert into audit_beginnings select tenant_id, seq, hash from audit_log where seq = 1900')
    await owner.query('delete from audit_log where seq <= 1900')
  })
  await assert.rejects(overtaken.text(), 'cut, so that nobody takes it for the whole')
  await until(async () => (await endedExports(kit)).length === 1)
  const [failed] = await endedExports(kit)
  assert.deepEqual([failed!.outcome, failed!.details!.cause], ['failed', 'purged'])
  const { events, signed } = readNdjson(await (await startExport(kit)).text())
  assert.equal(events[0]!.seq, 1901)
  assert.equal(signed.manifest.events, events.length)
})

test('a revoked credential gets no further page, and the failed export is logged and recorded', async (t) => {
  const kit = await startKit(t)
  await fill(kit, 2000)
  const { api_key, secret } = await kit.admin.createApiKey({ body: { name: 'auditor', role: 'auditor' } })
  const running = await startExport({ ...kit, adminKey: secret })
  assert.equal(running.status, 200)
  await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id } })
  await assert.rejects(running.text(), 'cut, so that nobody takes it for the whole')
  await until(async () => (await endedExports(kit)).length === 1)
  const [revoked] = await endedExports(kit)
  assert.deepEqual(
    [revoked!.outcome, revoked!.details!.cause, revoked!.actor.id],
    ['failed', 'revoked', api_key.key_id],
  )
  const logged = () => kit.logs.filter((line) => line.includes('background task failed'))
  assert.deepEqual(logged(), [], 'nothing failed')

  const failing = await startExport(kit)
  await withClient(kit.databaseUrl, async (owner) => {
    await owner.query('alter function audit_begins_after rename to audit_began_after')
    await assert.rejects(failing.text(), 'cut, so that nobody takes it for the whole')
    await owner.query('alter function audit_began_after rename to audit_begins_after')
  })
  await until(async () => (await endedExports(kit)).length === 2)
  const [failed] = await endedExports(kit)
  assert.deepEqual([failed!.outcome, failed!.details!.cause], ['failed', 'error'])
  assert.equal(logged().length, 1)
  assert.match(logged()[0]!, /audit_begins_after/)
})
