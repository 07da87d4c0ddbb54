import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { loopbackAllowed, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { startTenant } from '../support/deployment/tenants.ts'
import { until } from '../support/deployment/wait-until.ts'
import { deliveryOf, isAllSent, setStream, streamOf } from '../support/domain/siem-delivery.ts'
import {
  addNumberedEvents,
  eventsIn,
  numbersIn,
  oneTo,
  type ReceivedEvent,
  startHttpReceiver,
  toWebhook,
  untilReceived,
} from '../support/providers/siem-receivers.ts'

test('repeated delivery of events, on two replicas', async (t) => {
  const deployment = await startKit(t, { replicas: 2, config: loopbackAllowed })

  await t.test('a replay starts at a sequence number or a time', async () => {
    const kit = await startTenant(deployment)
    const taken: ReceivedEvent[] = []
    const ids: string[] = []
    const sink = await startHttpReceiver(kit, (request, response) => {
      taken.push(...eventsIn(request))
      ids.push(String(request.headers['webhook-id']))
      response.end()
    })
    await addNumberedEvents(kit, 20)
    const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    const { connector_id } = connector
    const params = { connector_id }
    await until(async () => (await deliveryOf(kit, connector_id)).delivered > 0, 'its own creation')
    assert.deepEqual(numbersIn(taken), [], 'earlier events are not sent')
    const all = await kit.admin.replaySiemConnector({ params, body: { from_seq: 1 } })
    assert.ok(all.events >= 20)
    await untilReceived(() => taken, 20)
    assert.deepEqual(numbersIn(taken), oneTo(20))
    assert.equal(taken.findLast((e) => e.kind !== 'user.changed') !== undefined, true)

    taken.length = 0
    await kit.admin.replaySiemConnector({ params, body: { from: new Date(Date.now() - 3600_000).toISOString() } })
    await untilReceived(() => taken, 20)
    // Each time it is another message: a receiver would throw away one that it knows.
    for (const run of [1, 2])
      assert.ok(
        ids.some((id) => id.startsWith(`${connector_id}.${run}.1-`)),
        ids.join(),
      )
  })

  await t.test('a replay by time includes events that were committed late', async () => {
    const kit = await startTenant(deployment)
    const taken: ReceivedEvent[] = []
    const sink = await startHttpReceiver(kit, (request, response) => {
      taken.push(...eventsIn(request))
      response.end()
    })
    const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    const { connector_id } = connector
    const params = { connector_id }
    const enable = async (enabled: boolean) => {
      const { delivery: _, ...shown } = await kit.admin.getSiemConnector({ params })
      await kit.admin.updateSiemConnector({ params, body: { ...shown, enabled } })
    }
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1000)
    await addNumberedEvents(kit, 2, 1, undefined, ago(3600))
    await addNumberedEvents(kit, 3, 3)
    await untilReceived(() => taken, 5)
    await enable(false)
    // All of them are older than the three, and none was sent.
    await addNumberedEvents(kit, 1001, 6, undefined, ago(600))
    const head = () =>
      kit.db.inTenant(kit.tenant, (tx) =>
        tx.selectFrom('audit_heads').select('seq').where('tenant_id', '=', kit.tenant).executeTakeFirstOrThrow(),
      )
    await until(async () => (await head()).seq > 1005, 'all in order')
    const from = (at: Date) => kit.admin.replaySiemConnector({ params, body: { from: at.toISOString() } })
    const { events } = await from(ago(900))
    assert.ok(events >= 3, `${events} events are sent again`)
    assert.equal((await from(ago(-3600))).events, 0, 'no event is that late')
    await from(ago(900))
    taken.length = 0
    await enable(true)
    await untilReceived(() => taken, 1006)
    assert.deepEqual(numbersIn(taken), oneTo(1006), 'in order, from the first event of the time on')
  })

  await t.test('dead letters that cannot be sent again block neither new events nor each other', async () => {
    const kit = await startTenant(deployment)
    const taken: ReceivedEvent[] = []
    const came = () => numbersIn(taken).toSorted((a, b) => a - b)
    let status = (n: number): number => (n <= 4 ? 413 : 200)
    const sink = await startHttpReceiver(kit, (request, response) => {
      const events = eventsIn(request)
      const answer = Math.max(...numbersIn(events).map(status), 200)
      if (answer === 200) taken.push(...events)
      response.writeHead(answer).end()
    })
    const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    const { connector_id } = connector
    const params = { connector_id }
    const letters = async () => (await kit.admin.listSiemDeadLetters({ params })).items
    // Each event is large enough to be a batch by itself.
    await addNumberedEvents(kit, 4, 1, () => 'x'.repeat(120 * 1024))
    await until(async () => (await letters()).length === 4, 'four dead letters')
    const told = async () => (await kit.admin.listNotifications({ query: { state: 'open' } })).items
    assert.deepEqual(
      (await told()).map((n) => [n.kind, n.title]),
      [['siem.dead_letters', 'Audit events are dead letters of soc']],
    )

    // One is refused by a firewall, and one makes the receiver fail.
    status = (n) => ({ 1: 500, 3: 403 })[n] ?? 200
    await kit.admin.replaySiemConnector({ params, body: { dead_letters: 'all' } })
    const stream = () => streamOf(kit, connector_id)
    await until(async () => (await stream()).replay_failures > 1, 'it to be tried again')
    await addNumberedEvents(kit, 1, 5)
    await until(() => came().includes(5), 'the new event')
    const { state, problem, failures } = await stream()
    assert.deepEqual([state, problem, failures], ['flowing', null, 0])
    // Its own patience, without the wait.
    await until(async () => {
      await setStream(kit, connector_id, { replay_due_at: new Date(0) })
      return (await letters()).length === 2 && (await letters()).every((d) => !d.replaying)
    }, 'sendable and unsendable dead letters')
    assert.deepEqual(
      (await letters()).map((d) => d.reason),
      ['The receiver answered 500.', 'The receiver answered 403.'],
    )
    assert.equal(taken.filter((e) => /^n[24]x/.test(String(e.operation))).length, 2, 'each was sent once')
    assert.equal((await told()).length, 1, 'told once')

    // A receiver that accepts nothing is retried: the events stay in the replay.
    status = () => 503
    await kit.admin.replaySiemConnector({ params, body: { dead_letters: 'all' } })
    await until(async () => (await stream()).replay_failures > 1, 'it to be waited for')
    assert.ok((await letters()).every((d) => d.replaying))
    status = () => 200
    await until(async () => (await letters()).length === 0, 'all of them')
    await until(async () => (await told()).length === 0, 'the notification to be closed')

    // A replay from a sequence number on replaces the waiting one.
    status = (n) => (n === 6 ? 413 : 200)
    await addNumberedEvents(kit, 1, 6)
    await until(async () => (await letters()).length === 1, 'one more')
    assert.equal((await told()).length, 1, 'told anew')
    status = () => 503
    await kit.admin.replaySiemConnector({ params, body: { dead_letters: 'all' } })
    await kit.admin.replaySiemConnector({ params, body: { from: new Date(Date.now() + 3600_000).toISOString() } })
    assert.deepEqual([(await letters()).map((d) => d.replaying)], [[false]])
  })

  await t.test('a delivered dead letter is removed, and an event refused during an export only is kept', async () => {
    const kit = await startTenant(deployment)
    let isRefusing = false
    const sink = await startHttpReceiver(kit, (request, response) => {
      const isBad = isRefusing && numbersIn(eventsIn(request)).some((n) => n <= 2)
      response.writeHead(isBad ? 422 : 200).end()
    })
    const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    const { connector_id } = connector
    const params = { connector_id }
    const letters = async () => (await kit.admin.listSiemDeadLetters({ params })).items
    const now = () => deliveryOf(kit, connector_id)
    const exported = async () => {
      const query = { connector_id, from: new Date(Date.now() - 3600_000).toISOString() }
      const { export_id } = await kit.admin.exportAuditToWebhook({ query })
      const state = () => kit.admin.getAuditWebhookExport({ params: { export_id } })
      await until(async () => (await state()).status === 'finished', 'the export')
    }
    await addNumberedEvents(kit, 3)
    await until(async () => (await streamOf(kit, connector_id)).delivered > 3 && (await isAllSent(kit)), 'all of it')
    isRefusing = true
    await exported()
    assert.equal((await letters()).length, 2)
    assert.equal((await now()).dead_letters, 2)
    // One dead letter expires. It does not count as lost, since its event had been delivered.
    await kit.db.inTenant(kit.tenant, (tx) =>
      tx
        .updateTable('siem_dead_letters')
        .set({ failed_at: new Date(0) })
        .where('tenant_id', '=', kit.tenant)
        .where('seq', '=', sql<number>`(select min(seq) from siem_dead_letters where tenant_id = ${kit.tenant})`)
        .execute(),
    )
    await runJob(kit.app, 'forget_what_is_over')
    assert.deepEqual([(await now()).dead_letters, (await now()).lost], [1, 0])
    // Another export is delivered completely.
    isRefusing = false
    await exported()
    assert.deepEqual([await letters(), (await now()).dead_letters], [[], 0])

    // A full list of dead letters does not block events that are accepted.
    await setStream(kit, connector_id, { dead: 10_000 })
    for (const n of [4, 5]) {
      await addNumberedEvents(kit, 1, n)
      await until(() => numbersIn(sink.requests.flatMap(eventsIn)).includes(n), 'one more')
    }
  })

  await t.test('an export sends the events of a period again, and twenty concurrent requests start one', async () => {
    const kit = await startTenant(deployment)
    const taken: ReceivedEvent[] = []
    const ids: string[] = []
    const asked = Promise.withResolvers<void>()
    // The event stays in delivery until all requests have been sent.
    const sink = await startHttpReceiver(kit, async (request, response) => {
      await asked.promise
      taken.push(...eventsIn(request))
      ids.push(String(request.headers['webhook-id']))
      response.end()
    })
    await addNumberedEvents(kit, 20)
    const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    const { connector_id } = connector
    const query = { connector_id, from: new Date(Date.now() - 3600_000).toISOString() }
    const begun = await times(20, (i) =>
      kit.clientFor(kit.adminKey, kit.replicas[i % 2]).exportAuditToWebhook({ query }),
    )
    asked.resolve()
    const [one] = begun
    assert.equal(new Set(begun.map((e) => e.export_id)).size, 1, 'it is one export')
    const state = () => kit.admin.getAuditWebhookExport({ params: { export_id: one!.export_id } })
    await until(async () => (await state()).status === 'finished', 'the export')
    const { events, delivered, refused } = await state()
    assert.deepEqual([delivered, refused], [events, 0])
    assert.deepEqual(numbersIn(taken), oneTo(20))
    assert.ok(ids.some((id) => id.startsWith(`${one!.export_id}.1-`)))
    await assert.rejects(
      kit.admin.exportAuditToWebhook({ query: { ...query, to: new Date(Date.now() + 3600_000).toISOString() } }),
      /must not be in the future/,
    )
  })
})
