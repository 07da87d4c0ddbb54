import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { loopbackAllowed, runJob, startKit } from '../support/deployment/deployment.ts'
import { startTenant } from '../support/deployment/tenants.ts'
import { until } from '../support/deployment/wait-until.ts'
import { deliveryOf } from '../support/domain/siem-delivery.ts'
import {
  addNumberedEvents,
  eventsIn,
  numbersIn,
  oneTo,
  type ReceivedEvent,
  startHttpReceiver,
  startSyslogReceiver,
  toSyslog,
  toWebhook,
  untilReceived,
} from '../support/providers/siem-receivers.ts'

/** Asserts the order of first arrivals by sequence number. */
const requireOrder = (events: readonly ReceivedEvent[]) => {
  const first = [...new Set(events.map((e) => e.seq))]
  assert.deepEqual(
    first,
    first.toSorted((a, b) => a - b),
  )
  assert.equal(first.at(-1)! - first[0]!, first.length - 1, 'no place is left out')
}

test('delivery of events, on two replicas', async (t) => {
  const deployment = await startKit(t, { replicas: 2, config: loopbackAllowed })

  await t.test(
    'syslog: a receiver that resets or closes early gets all events in order, from two replicas',
    async () => {
      const kit = await startTenant(deployment)
      const sink = await startSyslogReceiver(kit, {
        meddle: (socket, nth) => {
          // The first resets after some bytes, the second closes without having read.
          if (nth === 0) socket.once('data', () => socket.resetAndDestroy())
          if (nth === 1) socket.destroy()
          return nth < 2
        },
      })
      const { connector, secret } = await kit.admin.createSiemConnector({ body: toSyslog(sink.port) })
      assert.equal(secret, null)
      await addNumberedEvents(kit, 600)
      await untilReceived(sink.events, 600)
      assert.deepEqual(numbersIn(sink.events()), oneTo(600))
      requireOrder(sink.events())
      assert.match(sink.frames[0]!, /^<86>1 \S+ holdfast\.test holdfast - \S+ \[audit@32473 seq="/)
      // Deliveries are counted once they are recorded.
      await until(
        async () => (await deliveryOf(kit, connector.connector_id)).delivered >= 600,
        'the counters of the deliveries',
      )
      const { delivered, failed, state } = await deliveryOf(kit, connector.connector_id)
      assert.ok(delivered >= 600 && failed >= 2, `${delivered} ${failed}`)
      assert.equal(state, 'active')
    },
  )

  await t.test('a replica that dies while sending is replaced by another, which sends unconfirmed events', async () => {
    const kit = await startTenant(deployment)
    let stalled = 0
    const sink = await startSyslogReceiver(kit, {
      // The first connection is accepted but never read, as with a holder that hangs.
      meddle: (_, nth) => nth === 0 && ++stalled > 0,
    })
    const { connector } = await kit.admin.createSiemConnector({ body: toSyslog(sink.port) })
    await addNumberedEvents(kit, 50)
    await until(() => stalled === 1, 'the first attempt')
    // As if the holder had been killed: its lease expires without a final state.
    await kit.db.acrossTenants((tx) =>
      tx
        .updateTable('siem_streams')
        .set({ leased_until: new Date(0) })
        .execute(),
    )
    await untilReceived(sink.events, 50)
    assert.deepEqual(numbersIn(sink.events()), oneTo(50))
    const before = (await deliveryOf(kit, connector.connector_id)).delivered_seq
    // The first holder times out. It neither moves the delivered sequence number back nor delivers anything twice.
    await addNumberedEvents(kit, 10, 51)
    await untilReceived(sink.events, 60)
    const hasMoved = async () => (await deliveryOf(kit, connector.connector_id)).delivered_seq > before
    await until(hasMoved, 'the place to move')
    requireOrder(sink.events())
  })

  await t.test(
    'a webhook verifies with the library, and a batch answered with 413 is halved down to one dead letter',
    async () => {
      const kit = await startTenant(deployment)
      const taken: ReceivedEvent[] = []
      let refuses = true
      const sink = await startHttpReceiver(kit, (request, response) => {
        if (refuses && request.body.includes('TOO LARGE')) return response.writeHead(413).end()
        taken.push(...eventsIn(request))
        return response.writeHead(204).end()
      })
      const { connector, secret } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
      const { connector_id } = connector
      await addNumberedEvents(kit, 60, 1, (n) => (n === 17 || n === 41 ? ' TOO LARGE' : ''))
      await untilReceived(() => taken, 58)
      assert.deepEqual(
        numbersIn(taken),
        oneTo(60).filter((n) => n !== 17 && n !== 41),
      )
      for (const { body, headers } of sink.requests)
        new Webhook(secret!).verify(body, headers as Record<string, string>)
      assert.throws(() => new Webhook(secret!).verify(`${sink.requests[0]!.body} `, sink.requests[0]!.headers as never))

      const { items } = await kit.admin.listSiemDeadLetters({ params: { connector_id } })
      assert.deepEqual(
        items.map((d) => [d.kind, d.reason]),
        [
          ['user.changed', 'The receiver answered 413.'],
          ['user.changed', 'The receiver answered 413.'],
        ],
      )
      assert.equal((await deliveryOf(kit, connector_id)).dead_letters, 2)

      // Dead letters that are refused again stay; delivered ones are removed.
      const replayed = await kit.admin.replaySiemConnector({ params: { connector_id }, body: { dead_letters: 'all' } })
      assert.equal(replayed.events, 2)
      const waiting = async () => (await kit.admin.listSiemDeadLetters({ params: { connector_id } })).items
      await until(async () => (await waiting()).every((d) => !d.replaying), 'the replay')
      assert.equal((await waiting()).length, 2)

      // After 90 days one is given up, and counts as lost.
      await kit.db.inTenant(kit.tenant, (tx) =>
        tx
          .updateTable('siem_dead_letters')
          .set({ failed_at: new Date(0) })
          .where('tenant_id', '=', kit.tenant)
          .where('seq', '=', items[0]!.seq)
          .execute(),
      )
      await runJob(kit.app, 'forget_what_is_over')
      const afterwards = await deliveryOf(kit, connector_id)
      assert.deepEqual([afterwards.dead_letters, afterwards.lost], [1, 1])
      refuses = false
      await kit.admin.replaySiemConnector({ params: { connector_id }, body: { dead_letters: items.map((d) => d.seq) } })
      await until(async () => (await waiting()).length === 0, 'the dead letters')
      assert.equal(numbersIn(taken).length, 59)
      assert.equal((await deliveryOf(kit, connector_id)).dead_letters, 0)
    },
  )

  await t.test(
    'a busy receiver is retried, and one that refuses the credential is parked until a test succeeds',
    async () => {
      const kit = await startTenant(deployment)
      const answers = [503, 429]
      let otherwise = 401
      const taken: ReceivedEvent[] = []
      const sink = await startHttpReceiver(kit, (request, response) => {
        const status = answers.shift() ?? otherwise
        if (status === 200 && request.body.includes('audit.events')) taken.push(...eventsIn(request))
        response.writeHead(status).end()
      })
      const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
      const { connector_id } = connector
      await addNumberedEvents(kit, 5)
      await until(async () => (await deliveryOf(kit, connector_id)).state === 'parked', 'parked')
      const { problem, failed, failing_since } = await deliveryOf(kit, connector_id)
      assert.equal(problem, 'The receiver answered 401.')
      // Events refused together are tried alone before the connector is parked.
      assert.ok(failed >= 3, String(failed))
      assert.ok(failing_since)
      const told = async () =>
        (await kit.admin.listNotifications({ query: { state: 'open' } })).items.filter((n) => n.kind === 'siem.parked')
      assert.deepEqual(
        (await told()).map((n) => n.title),
        ['Audit events are not forwarded to soc'],
      )
      const asked = sink.requests.length
      otherwise = 200
      const tested = await kit.admin.testSiemConnector({ params: { connector_id } })
      assert.deepEqual([tested.ok, tested.answer], [true, 'The receiver answered 200.'])
      await untilReceived(() => taken, 5)
      assert.ok(sink.requests.length > asked)
      assert.deepEqual(await told(), [])
      assert.equal((await deliveryOf(kit, connector_id)).problem, null)

      // The replica that saw the connector recover ended before it recorded this. The sweep closes the notification,
      // but not one of a failing connector.
      otherwise = 401
      await addNumberedEvents(kit, 1, 6)
      await until(async () => (await told()).length === 1, 'to be told again')
      await runJob(kit.app, 'watch_siem')
      assert.equal((await told()).length, 1)
      await kit.db.inTenant(kit.tenant, (tx) =>
        tx.updateTable('siem_streams').set({ state: 'flowing' }).where('tenant_id', '=', kit.tenant).execute(),
      )
      await runJob(kit.app, 'watch_siem')
      assert.deepEqual(await told(), [])
    },
  )

  await t.test('a receiver that refuses everything is parked, and no event is lost', async () => {
    const kit = await startTenant(deployment)
    let status = 400
    const taken: ReceivedEvent[] = []
    const sink = await startHttpReceiver(kit, (request, response) => {
      if (status === 200) taken.push(...eventsIn(request))
      response.writeHead(status).end()
    })
    const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    const { connector_id } = connector
    await addNumberedEvents(kit, 40)
    await until(async () => (await deliveryOf(kit, connector_id)).state === 'parked', 'parked')
    const { dead_letters, problem } = await deliveryOf(kit, connector_id)
    assert.equal(dead_letters, 20)
    assert.match(
      problem ?? '',
      /^The receiver refused 20 events in a row\. Its last answer: The receiver answered 400\.$/,
    )
    status = 200
    await kit.admin.replaySiemConnector({ params: { connector_id }, body: { dead_letters: 'all' } })
    await untilReceived(() => taken, 40)
    await until(async () => (await deliveryOf(kit, connector_id)).dead_letters === 0, 'no dead letter to be left')
  })
})
