import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bearer } from '../support/actors/all-callers.ts'
import { send } from '../support/clients/api-calls.ts'
import { ageRecord, connectOwner, count, forget } from '../support/database/retention.ts'
import { withClient } from '../support/database/test-database.ts'
import { startDrill } from '../support/deployment/backup-drill.ts'
import { createClock, type Kit, runJob, startKit } from '../support/deployment/deployment.ts'
import { makeTenant } from '../support/deployment/tenants.ts'
import { until } from '../support/deployment/wait-until.ts'
import {
  arrive,
  eventsIn,
  numbersIn,
  oneTo,
  opened,
  startHttp,
  toWebhook,
} from '../support/providers/siem-receivers.ts'

const generate = (kit: Kit) => {
  const headers = { ...bearer(kit.adminKey)('', ''), 'content-type': 'application/json', 'idempotency-key': 'cut-off' }
  return send(kit, 'POST', '/v1/admin/tokens/generate', headers, '{}')
}

test('after a restore nothing waits for who held it, all is sent that nobody confirmed, and nothing goes for good', async (t) => {
  const clock = createClock()
  const { kit, backUp, restore } = await startDrill(t, { config: opened, now: clock.now })
  let isSilent = false
  const sink = await startHttp(kit, (_, response) => void (isSilent || response.writeHead(200).end()))
  await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
  await arrive(kit, 5)
  await until(() => numbersIn(sink.requests.flatMap(eventsIn)).length === 5, 'the first events')
  isSilent = true
  await arrive(kit, 5, 6)
  await until(() => numbersIn(sink.requests.flatMap(eventsIn)).length === 10, 'what nobody confirms')
  const { tenant } = await makeTenant(kit, 'acme')
  const { tenant_id } = tenant
  await kit.admin.changeTenant({ body: { operation: 'delete', tenant_id, delay_seconds: 3600 } })
  assert.equal((await generate(kit)).status, 201)
  // Leases at the time of the backup, of replicas whose clock is an hour ahead.
  await withClient(kit.databaseUrl, (client) =>
    client.query(`update siem_streams set leased_until = now() + interval '1 hour', due_at = now() + interval '1 hour';
      update idempotency_keys set state = 'started', answer_jwe = null, created_at = now() + interval '1 hour';
      insert into retention_clock (seen_at, trusted_from) values (now(), '-infinity') on conflict do nothing`),
  )
  assert.equal((await generate(kit)).status, 422, 'the key is in use')
  await backUp()

  const confirmed = sink.requests.length
  isSilent = false
  const back = await restore()
  const came = () => sink.requests.slice(confirmed).flatMap(eventsIn)
  const isRestored = () => came().some(({ kind }) => kind === 'deployment.fenced')
  await until(
    () =>
      oneTo(10)
        .slice(5)
        .every((n) => numbersIn(came()).includes(n)) && isRestored(),
    'all of it',
  )
  assert.equal((await generate(back)).status, 201, 'what was not made may be asked for again')

  const week = 7 * 86_400_000
  const { clock_trusted_from } = await back.admin.getRetention()
  const wait = Date.parse(clock_trusted_from ?? '') - Date.now()
  assert.ok(wait > week - 600_000 && wait <= week, `nothing is purged for a week: ${clock_trusted_from}`)
  const owner = await connectOwner(back)
  await owner.query(`update retention_periods set days = 30, settles_at = 'epoch' where class = 'audit'`)
  await ageRecord(owner, 'true')
  await forget(back)
  assert.equal(await count(owner, 'audit_beginnings'), 0)
  clock.advance(7200)
  await runJob(back.app, 'delete_tenants')
  const { tenants } = await back.admin.listTenants({ query: {} }).then(({ items }) => ({ tenants: items }))
  const acme = tenants.find((found) => found.tenant_id === tenant_id)
  assert.ok(
    Date.parse(acme?.delete_after ?? '') - clock.now().getTime() > week - 3 * 3_600_000,
    acme?.delete_after ?? '',
  )
})

test('a month begins while a backup is read: nobody waits for long, and it is made at the latest afterwards', async (t) => {
  const kit = await startKit(t)
  const [reader, maker] = [await connectOwner(kit), await connectOwner(kit)]
  const tables = ['audit_log', 'metering_reports', 'telemetry_events', 'vpn_sessions']
  const made = async () => {
    await maker.query(`call ensure_partitions('2031-05-15')`)
    const { rows } = await maker.query<{ parent: string; months: number }>(
      `select inhparent::regclass::text as parent, count(*)::int as months from pg_inherits
       where inhrelid::regclass::text ~ '_2031_0[4567]$' group by 1`,
    )
    return Object.fromEntries(rows.map(({ parent, months }) => [parent, months]))
  }
  await reader.query(`begin isolation level repeatable read read only; lock table ${tables} in access share mode`)
  await maker.query(`set statement_timeout = '30s'`)
  const atOnce = { audit_log: 4, metering_reports: 4, telemetry_events: 4 }
  assert.deepEqual(await made(), atOnce)
  await reader.query('commit')
  assert.deepEqual(await made(), { ...atOnce, vpn_sessions: 4 })
  // Each table looks as if created as a partition: it has everything of its parent, once.
  const { rows } = await maker.query(`select p.relname,
      (select count(*)::int from pg_index where indrelid = p.oid) as expected,
      (select count(*)::int from pg_index where indrelid = c.oid) as indexes,
      (select count(*)::int from pg_index x join pg_inherits j on j.inhrelid = x.indexrelid where x.indrelid = c.oid)
        as attached,
      (select array_agg(tgname::text order by 1) from pg_trigger
        where tgrelid = c.oid and not tgisinternal and tgtype & 1 = 1) as triggers,
      (select array_agg(tgname::text order by 1) from pg_trigger
        where tgrelid = p.oid and not tgisinternal and tgtype & 1 = 1) as expected_triggers
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where c.relname ~ '_2031_05$'`)
  assert.equal(rows.length, tables.length)
  for (const { relname, expected, indexes, attached, triggers, expected_triggers } of rows)
    assert.deepEqual([indexes, attached, triggers], [expected, expected, expected_triggers], relname)
})
