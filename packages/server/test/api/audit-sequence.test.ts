import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson } from '@holdfast/crypto'
import pg from 'pg'
import { uuidv7 } from 'uuidv7'
import { withGateway } from '../support/actors/gateways.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { recordOf, requireChain } from '../support/domain/audit-chain.ts'

async function connect(kit: Kit, options?: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: kit.databaseUrl, ...(options && { options }) })
  client.on('error', () => {})
  await client.connect()
  kit.after(() => client.end())
  return client
}
const arrive = (kind = 'user.changed', at = 'now()') =>
  `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, record)
   select tenant_id, $1, ${at}, '${kind}', 'success', $2 from tenants`
const eventText = (id: string, kind = 'user.changed') =>
  canonicalJson({
    event_id: id,
    tenant_id: id,
    kind,
    timestamp: new Date().toISOString(),
    outcome: 'success',
    actor: { type: 'job', id: null, name: null },
    target: null,
    source_ip: null,
    user_agent: null,
    request_id: null,
    origin: 'job',
  })

test('twenty writers on two replicas make one sequence without gaps, each event in the hash of the next', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const admins = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const names = await times(20, async (i) => {
    const name = `token-${i} \u0000\ud800 \u001b[31m`
    await admins[i % 2]!.generateToken({ body: { name: `token-${i}` } })
    await admins[i % 2]!.generateToken({ body: { name } }).catch(() => {})
    return name
  })
  assert.equal(names.length, 20)
  const events = await recordOf(kit)
  requireChain(events)
  assert.equal(events.filter((e) => e.kind === 'enrollment_token.created').length >= 20, true)
  const [counted] = await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .selectFrom('audit_counts')
      .select(({ fn }) => fn.sum<number>('events').as('events'))
      .where('tenant_id', '=', kit.tenant)
      .where('kind', '=', 'enrollment_token.created')
      .execute(),
  )
  assert.equal(counted?.events, events.filter((e) => e.kind === 'enrollment_token.created').length)
  const other = await kit.newTenant()
  const theirs = await recordOf({ admin: kit.clientFor(await kit.keyFor('auditor', other)) })
  requireChain(theirs)
  assert.equal(theirs[0]?.seq, 1, 'each tenant has its own')
})

test('whoever was answered finds the event on record, on every replica', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const [here, there] = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  for (let i = 0; i < 20; i++) {
    const { enrollment_token } = await here!.generateToken({ body: { name: `token ${i}` } })
    const { items } = await there!.listAuditEvents({ query: { target_id: enrollment_token.token_id } })
    assert.deepEqual(
      items.map((e) => e.kind),
      ['enrollment_token.created'],
    )
  }
})

test('what commits late comes late: whoever has read up to a place has missed nothing before it', async (t) => {
  const kit = await startKit(t)
  const late = await connect(kit)
  const id = uuidv7()
  await late.query('begin')
  await late.query(arrive(), [id, eventText('late')])
  await kit.admin.generateToken({ body: { name: 'meanwhile' } })
  const before = await recordOf(kit)
  assert.ok(before.every((e) => e.event_id !== 'late'))
  await late.query('commit')
  const after = await recordOf(kit)
  requireChain(after)
  const place = after.findIndex((e) => (e.event_id as string) === 'late') + 1
  assert.ok(place > before.length, 'it was begun before, and committed after')
  assert.deepEqual(after.slice(0, before.length), before)
})

test('what a replica left when it ended gets its place from another one', async (t) => {
  const kit = await startKit(t)
  const owner = await connect(kit)
  await owner.query(arrive(), [uuidv7(), eventText('left')])
  const isThere = async () => (await owner.query(`select from audit_log where record like '%"left"%'`)).rowCount === 1
  await until(isThere, 'the sweep')
  assert.equal((await owner.query('select from audit_arrivals')).rowCount, 0)
})

test('a clock that was years off holds nothing up', async (t) => {
  const kit = await startKit(t)
  const owner = await connect(kit)
  for (const at of ['1999-12-31', '2077-01-01'])
    await owner.query(arrive(undefined, `'${at}'`), [uuidv7(), eventText(at)])
  requireChain(await recordOf(kit))
  assert.equal((await owner.query(`select from audit_log where at > '2076-01-01' or at < '2000-01-01'`)).rowCount, 2)
})

test('nobody waits for a sequencer that stalls, and its places are taken by the next one', async (t) => {
  const kit = await startKit(t)
  await recordOf(kit)
  const stalled = await connect(kit, '-c role=holdfast_app')
  await stalled.query(`begin; set local holdfast.tenant = '${kit.tenant}'`)
  await stalled.query(arrive(), [uuidv7(), eventText('stalled')])
  // Null while the server itself is at it.
  await until(async () => {
    const { rows } = await stalled.query<{ count: number | null }>('select sequence_audit(1000) as count')
    return rows[0]!.count !== null && rows[0]!.count > 0
  }, 'a head that is changed, and not committed')
  const token = await kit.admin.generateToken({ body: { name: 'goes on' } })
  assert.ok(token.secret)
  // A read fails rather than omit events that were committed before.
  const answer = await fetch(`${kit.url}/v1/audit/events`, { headers: { authorization: `Bearer ${kit.adminKey}` } })
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [500, '1'])
  await stalled.query('rollback')
  requireChain(await recordOf(kit))
})

const reported = (event_id: string) => ({ event_id, kind: 'gateway_report.started', at: new Date().toISOString() })

test('the report of a gateway gets its places behind what was there before, each event once', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { secret } = await withGateway(kit)
  const gateways = kit.replicas.map((replica) => kit.clientFor(secret, replica))
  const owner = await connect(kit)
  await recordOf(kit)
  await owner.query(arrive(), [uuidv7(), eventText('earlier')])
  await gateways[0]!.ingestAuditEvents({ body: { events: [reported('a'), reported('b')] } })
  const ids = ['earlier', 'a', 'b']
  const named = (await recordOf(kit)).map((e) => ('gateway_event_id' in e ? e.gateway_event_id : e.event_id))
  assert.deepEqual(
    named.filter((id) => ids.includes(String(id))),
    ids,
  )
  await times(20, (i) =>
    gateways[i % 2]!.ingestAuditEvents({ body: { events: [reported(`x${i % 5}`), reported(`y${i}`)] } }),
  )
  const events = await recordOf(kit)
  requireChain(events)
  const counts = await owner.query<{ n: number }>(
    `select sum(events)::float8 as n from audit_counts where kind = 'gateway_report.started'`,
  )
  const placed = events.filter((e) => e.kind === 'gateway_report.started').length
  assert.deepEqual([placed, counts.rows[0]!.n], [2 + 5 + 20, 2 + 5 + 20])
})

test('a report waits for nobody: where places are given elsewhere, or a thousand wait for theirs, it waits with them', async (t) => {
  const kit = await startKit(t)
  const { client } = await withGateway(kit)
  await recordOf(kit)
  const stalled = await connect(kit)
  await stalled.query(
    `begin; set local holdfast.tenant = '${kit.tenant}'; update audit_heads set seq = seq where tenant_id = '${kit.tenant}'`,
  )
  const { accepted } = await client.ingestAuditEvents({ body: { events: [reported('meanwhile')] } })
  const waiting = await stalled.query(`select from audit_arrivals where record like '%"meanwhile"%'`)
  assert.deepEqual([accepted, waiting.rowCount], [1, 1])
  // All of them while the lock is held, so that the sweep sequences none of them earlier.
  await stalled.query(
    `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, record)
     select tenant_id, gen_random_uuid(), now(), 'user.changed', 'success', $1 from tenants, generate_series(1, 1500)`,
    [eventText('one of many')],
  )
  const report = async () => {
    const { rows } = await stalled.query(
      `select given::float8, waits from place_report($1, now(), 'a', 'a', null, null, array[$2::uuid],
       '{gateway_report.started}', '{success}', '{null}', '{null}', array[$3])`,
      [kit.tenant, uuidv7(), eventText('reported', 'gateway_report.started')],
    )
    return rows[0]
  }
  assert.deepEqual(await report(), { given: 1000, waits: true })
  const { rowCount: left } = await stalled.query('select from audit_arrivals')
  assert.deepEqual(await report(), { given: left! + 1, waits: false })
  await stalled.query('commit')
  const events = await recordOf(kit)
  requireChain(events)
  assert.equal(events.filter((e) => e.kind === 'gateway_report.started').length, 3)
})

test('the record is append-only, for its owner too, and grows by its function alone', async (t) => {
  const kit = await startKit(t)
  await recordOf(kit)
  const owner = await connect(kit)
  for (const change of [
    `update audit_log set kind = 'x'`,
    'update audit_log set record = record',
    'delete from audit_log',
    'truncate audit_log',
  ])
    await assert.rejects(owner.query(change), /append-only/, change)
  // The partitions from the start, and that of a clock that was far off.
  await owner.query(`call ensure_partitions('2031-05-01Z')`)
  const { rows: months } = await owner.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit_log'::regclass`,
  )
  assert.ok(months.length >= 8)
  for (const { name } of months) await assert.rejects(owner.query(`truncate ${name}`), /append-only/, name)
  const app = await connect(kit, `-c role=holdfast_app -c holdfast.tenant=${kit.tenant}`)
  for (const change of [
    'insert into audit_log select * from audit_log',
    'update audit_log set seq = 1',
    'delete from audit_arrivals',
    'update audit_heads set seq = 0',
    'truncate audit_log',
  ])
    await assert.rejects(app.query(change), /permission denied/, change)
  await assert.rejects(
    (await connect(kit, '-c role=holdfast_app -c holdfast.tenant=*')).query('select sequence_audit(10)'),
    /of one tenant/,
  )
  const report = `select place_report(gen_random_uuid(), now(), 'a', 'a', null, null, array[gen_random_uuid()], '{x}',
    '{success}', '{x}', '{x}', '{x}')`
  await assert.rejects(app.query(report), /of another tenant/)
  await assert.rejects((await connect(kit, '-c role=holdfast_app')).query(report), /of another tenant/, 'nor of any')
  await assert.rejects(app.query(`select place_arrivals(h, 1) from audit_heads h`), /permission denied/)
})

test('an event of a replica of the version before is on record as any other', async (t) => {
  const kit = await startKit(t)
  const app = await connect(kit, `-c role=holdfast_app -c holdfast.tenant=${kit.tenant}`)
  await app.query(
    `insert into audit_events (tenant_id, event_id, at, kind, outcome, actor_type, actor_id, actor_name, target_type,
       target_id, target_name, source_ip, user_agent, request_id, origin, fields, changes, details)
     values ($1, $2, '2026-11-23T09:00:00.5Z', 'user.changed', 'success', 'user', 'usr_1', E'A "b" \\\\ \\x1f\\n', 'user', 'usr_2', 'Zoë 🎉',
       '192.0.2.1', null, 'req_1', 'api', '{"operation": "suspend"}', '{"status": ["active", null], "a.b": [1.50, 2]}', null)`,
    [kit.tenant, uuidv7()],
  )
  const events = await recordOf(kit)
  requireChain(events)
  const { seq: _, hash: __, event_id: ___, tenant_id, ...event } = events.find((e) => e.source_ip === '192.0.2.1')!
  assert.equal(tenant_id, events[0]!.tenant_id)
  assert.deepEqual(event, {
    kind: 'user.changed',
    timestamp: '2026-11-23T09:00:00.500Z',
    outcome: 'success',
    operation: 'suspend',
    actor: { type: 'user', id: 'usr_1', name: 'A "b" \\ \u001f\n' },
    target: { type: 'user', id: 'usr_2', name: 'Zoë 🎉' },
    source_ip: '192.0.2.1',
    user_agent: null,
    request_id: 'req_1',
    origin: 'api',
    changes: { status: ['active', null], 'a.b': [1.5, 2] },
  })
  assert.equal((await app.query(`select from audit_events where fields ->> 'operation' = 'suspend'`)).rowCount, 1)
})
