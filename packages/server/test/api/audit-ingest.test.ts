import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { decodeId, encodeId } from '../../src/kernel/ids.ts'
import { refused, withGateway } from '../support/actors/gateways.ts'
import { withClient } from '../support/database/test-database.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const event = (event_id: string, more: object = {}) => ({
  event_id,
  kind: 'gateway_report.config_changed',
  at: '2026-01-31T09:30:00+01:00',
  ...more,
})

test('events of gateways', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await t.test('what a gateway reports is on record as its word, its own time beside that of the server', () =>
    onRecord(kit),
  )
  await t.test('an event of a gateway counts once, whoever of twenty callers brings it to which of two replicas', () =>
    once(kit),
  )
  await t.test('a gateway can not say what only the server sees, and what is refused costs the rest nothing', () =>
    refusals(kit),
  )
  await t.test('ids are known for thirty days; the events stay', () => known(kit))
  await t.test('the id of a target is kept whole and found as it was written', () => targets(kit))
  await t.test('a gateway is charged by events, known ones too; another has its own allowance', (t) => charged(t, kit))
  await t.test('who waits for a report that is noted elsewhere keeps the record of nobody', () => unheld(kit))
})

async function onRecord(kit: Kit): Promise<void> {
  const { gateway, client } = await withGateway(kit)
  const { gateway_id } = gateway
  const before = Date.now()
  const answer = await client.ingestAuditEvents({
    body: {
      events: [
        event('e1', {
          outcome: 'failed',
          target: { type: 'file', name: 'nftables.conf' },
          remote_ip: '::ffff:192.0.2.9',
          details: { line: 12, note: `${'x'.repeat(511)}😀 cut`, esc: '\u001b[31m' },
        }),
      ],
    },
  })
  assert.deepEqual(answer, { accepted: 1, duplicate: 0, rejected: [] })
  const { items } = await kit.admin.listAuditEvents({ query: { kind: 'gateway_report.*' } })
  const { event_id: _, hash: __, seq: ___, timestamp, user_agent: ____, request_id, ...rest } = items[0]!
  assert.ok(Date.parse(timestamp) >= before - 1000 && Date.parse(timestamp) <= Date.now() + 1000, 'by our clock')
  assert.ok(request_id)
  assert.deepEqual(rest, {
    tenant_id: encodeId('tenant', kit.tenant),
    kind: 'gateway_report.config_changed',
    outcome: 'failed',
    actor: { type: 'gateway', id: gateway_id, name: 'g1' },
    target: { type: 'file', id: null, name: 'nftables.conf' },
    source_ip: '127.0.0.1',
    origin: 'gateway',
    gateway_id,
    gateway_event_id: 'e1',
    gateway_time: '2026-01-31T08:30:00.000Z',
    remote_ip: '192.0.2.9',
    details: { line: 12, note: 'x'.repeat(511), esc: '\u001b[31m' },
  })
}

async function once(kit: Kit): Promise<void> {
  const [one, other] = [await withGateway(kit, 'once'), await withGateway(kit, 'other')]
  const clients = kit.replicas.map((replica) => kit.clientFor(one.secret, replica))
  const events = Array.from({ length: 50 }, (_, i) => event(`e${i}`))
  const answers = await times(20, (i) =>
    clients[i % 2]!.ingestAuditEvents({ body: { events: i < 10 ? events : events.toReversed() } }),
  )
  assert.equal(
    answers.reduce((n, a) => n + a.accepted, 0),
    50,
  )
  assert.equal(
    answers.reduce((n, a) => n + a.duplicate, 0),
    19 * 50,
  )
  const twice = await clients[0]!.ingestAuditEvents({ body: { events: [event('f'), event('f'), event('e1')] } })
  assert.deepEqual(twice, { accepted: 1, duplicate: 2, rejected: [] })
  assert.equal((await other.client.ingestAuditEvents({ body: { events } })).accepted, 50, 'ids are of one gateway')
  const stored = (await eventsOf(kit, 'gateway_report.config_changed')).filter(
    (e) => e.gateway_id === one.gateway.gateway_id,
  )
  assert.equal(stored.length, 51)
  assert.equal(new Set(stored.map((e) => e.gateway_event_id)).size, 51)
}

async function refusals(kit: Kit): Promise<void> {
  const { client } = await withGateway(kit, 'says')
  const reserved = ['login.succeeded', 'api_key.used', 'gateway.created', 'audit.ingested', 'gateway_report.', 'x']
  const events = [
    event('ok'),
    ...reserved.map((kind) => event(kind, { kind })),
    event('when', { at: '2026-02-31' }),
    event('never', { at: '2026-02-31T00:00:00Z' }),
    event('leap', { at: '2026-06-30T23:59:60Z' }),
    event('where', { remote_ip: 'localhost' }),
    event('two words'),
    event('ümlaut'),
    event('a\0b'),
    event('name', { target: { type: 'file', name: 'a\0b' } }),
    event('detail', { details: { note: 'half \ud800' } }),
  ]
  const answer = await client.ingestAuditEvents({ body: { events } })
  assert.deepEqual(
    [answer.accepted, answer.duplicate, answer.rejected.map((r) => r.index)],
    [1, 0, events.map((_, i) => i).slice(1)],
  )
  for (const { index, error } of answer.rejected.slice(0, reserved.length))
    assert.match(error, /gateway_report/, events[index]!.kind)
  for (const more of [
    { source_ip: '192.0.2.1' },
    { actor: { type: 'user' } },
    { details: { nested: {} } },
    { details: { Open: 'x' } },
    { details: { 'a\0': ['x'] } },
  ])
    await assert.rejects(client.ingestAuditEvents({ body: { events: [event('no', more)] } }), refused(422))
  await assert.rejects(client.ingestAuditEvents({ body: { events: [] } }), refused(422))
  const many = Array.from({ length: 1001 }, (_, i) => event(`m${i}`))
  await assert.rejects(client.ingestAuditEvents({ body: { events: many } }), refused(422))
  assert.equal((await client.ingestAuditEvents({ body: { events: many.slice(1) } })).accepted, 1000)
  await assert.rejects(kit.admin.ingestAuditEvents({ body: { events: [event('no')] } }), refused(403))
}

async function known(kit: Kit): Promise<void> {
  const { client, gateway } = await withGateway(kit, 'remembered')
  const send = (id: string) => client.ingestAuditEvents({ body: { events: [event(id)] } })
  await send('old')
  await withClient(kit.databaseUrl, (owner) =>
    owner.query(`update audit_ingested set received_at = now() - interval '31 days'`),
  )
  await send('new')
  await runJob(kit.app, 'forget_what_is_over')
  const answers = [await send('old'), await send('new')]
  assert.deepEqual(
    answers.map((a) => a.accepted),
    [1, 0],
  )
  const of = { kind: 'gateway_report.*', actor_id: gateway.gateway_id }
  assert.equal((await kit.admin.listAuditEvents({ query: of })).items.length, 3)
}

async function targets(kit: Kit): Promise<void> {
  const { client } = await withGateway(kit, 'names')
  const id = `Az-${'X'.repeat(61)}`
  const about = (target: string) => ({ body: { events: [event('e', { target: { type: 'file', id: target } })] } })
  await assert.rejects(client.ingestAuditEvents(about(`${id}X`)), refused(422))
  await client.ingestAuditEvents(about(id))
  for (const query of [{ target_id: id }, { q: 'Az-X' }, { q: id }])
    assert.equal((await kit.admin.listAuditEvents({ query })).items[0]?.target?.id, id)
}

async function charged(t: TestContext, kit: Kit): Promise<void> {
  const [one, other] = [await withGateway(kit, 'charged'), await withGateway(kit, 'calm')]
  const events = Array.from({ length: 1000 }, (_, i) => event(`e${i}`))
  const body = JSON.stringify({ events })
  const headers = { authorization: `Bearer ${one.secret}`, 'content-type': 'application/json' }
  const url = `${kit.url}/v1/audit/ingest`
  // With a frozen clock, so that the rate limit does not refill.
  const moment = Math.ceil(performance.now())
  t.mock.method(performance, 'now', () => moment)
  const answers = await times(8, () => fetch(url, { method: 'POST', headers, body }))
  const busy = answers.filter(({ status }) => status === 429)
  assert.deepEqual([busy.length, answers.filter(({ status }) => status === 200).length], [2, 6])
  assert.ok(busy.every((answer) => Number(answer.headers.get('retry-after')) >= 1))
  const [refusal, ...more] = (await eventsOf(kit, 'request.refused')).filter((e) => e.reason === 'rate_limited')
  assert.deepEqual(more, [], 'the first 429 is on record, the others are counted')
  assert.deepEqual([refusal?.operation, refusal?.actor.id], ['ingestAuditEvents', one.gateway.gateway_id])
  assert.equal((await other.client.ingestAuditEvents({ body: { events } })).accepted, 1000)
}

/**
 * A report that waits for another transaction does not hold up the others; reports that arrive meanwhile are stored
 * together after it.
 */
async function unheld(kit: Kit): Promise<void> {
  const theirs = await kit.newTenant()
  const here = [await withGateway(kit, 'held'), await withGateway(kit, 'free')]
  const there = await withGateway({ ...kit, admin: await kit.as('tenant_admin', theirs) }, 'theirs')
  const report = ({ client }: (typeof here)[number], id: string) =>
    client.ingestAuditEvents({ body: { events: [event(id)] } })
  const note = ({ gateway }: (typeof here)[number], tenant: string) =>
    `insert into audit_ingested (tenant_id, gateway_id, event_id, received_at)
     values ('${tenant}', '${decodeId('gateway', gateway.gateway_id)}', 'noted', now())`
  await report(there, 'first')
  await withClient(kit.databaseUrl, (first) =>
    withClient(kit.databaseUrl, async (second) => {
      await first.query(`begin; ${note(here[0]!, kit.tenant)}`)
      await second.query(`begin; ${note(there, theirs)}`)
      const waiting = async (count: number) =>
        (
          await second.query(`select from pg_locks join pg_stat_activity using (pid)
            where datname = current_database() and locktype = 'transactionid' and not granted`)
        ).rowCount === count
      const held = report(here[0]!, 'noted')
      await until(() => waiting(1))
      const together = [report(here[1]!, 'free'), report(there, 'noted')]
      // Time for both to arrive; without it, the test would prove less.
      await delay(200)
      await first.query('rollback')
      await held
      await until(() => waiting(1))
      for (const tenant of [kit.tenant, theirs])
        await first.query('select from audit_heads where tenant_id = $1 for update nowait', [tenant])
      await second.query('rollback')
      assert.deepEqual(
        (await Promise.all(together)).map(({ accepted }) => accepted),
        [1, 1],
      )
    }),
  )
}
