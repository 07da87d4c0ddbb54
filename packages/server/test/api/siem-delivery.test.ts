import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { runJob, startKit } from '../support/deployment/deployment.ts'
import { tenantOf } from '../support/deployment/separate-tenant.ts'
import { until } from '../support/deployment/wait-until.ts'
import { deliveryOf } from '../support/domain/siem-delivery.ts'
import {
  arrive,
  eventsIn,
  numbersIn,
  oneTo,
  opened,
  type Received,
  startHttp,
  startSyslog,
  toSyslog,
  toWebhook,
  untilCame,
} from '../support/providers/siem-receivers.ts'

/** Asserts the order of first arrivals by sequence number. */
const requireOrder = (events: readonly Received[]) => {
  const first = [...new Set(events.map((e) => e.seq))]
  assert.deepEqual(
    first,
    first.toSorted((a, b) => a - b),
  )
  assert.equal(first.at(-1)! - first[0]!, first.length - 1, 'no place is left out')
}

test('events of tenants of one deployment of two replicas are forwarded', async (t) => {
  const deployment = await startKit(t, { replicas: 2, config: opened })

  await t.test(
    'syslog: a receiver that resets in the middle or closes early is sent everything, in order, on two replicas',
    async () => {
      const kit = await tenantOf(deployment)
      const sink = await startSyslog(kit, {
        meddle: (socket, nth) => {
          // The first resets after some bytes, the second closes without having read.
          if (nth === 0) socket.once('data', () => socket.resetAndDestroy())
          if (nth === 1) socket.destroy()
          return nth < 2
        },
      })
      const { connector, secret } = await kit.admin.createSiemConnector({ body: toSyslog(sink.port) })
      assert.equal(secret, null)
      await arrive(kit, 600)
      await untilCame(sink.events, 600)
      assert.deepEqual(numbersIn(sink.events()), oneTo(600))
      requireOrder(sink.events())
      assert.match(sink.frames[0]!, /^<86>1 \S+ holdfast\.test holdfast - \S+ \[audit@32473 seq="/)
      // Deliveries are counted once they are recorded.
      await until(
        async () => (await deliveryOf(kit, connector.connector_id)).delivered >= 600,
        'what came to be counted',
      )
      const { delivered, failed, state } = await deliveryOf(kit, connector.connector_id)
      assert.ok(delivered >= 600 && failed >= 2, `${delivered} ${failed}`)
      assert.equal(state, 'active')
    },
  )

  await t.test(
    'a replica that dies while it sends is replaced by another, which sends what nobody confirmed',
    async () => {
      const kit = await tenantOf(deployment)
      let stalled = 0
      const sink = await startSyslog(kit, {
        // The first connection is accepted but never read, as with a holder that hangs.
        meddle: (_, nth) => nth === 0 && ++stalled > 0,
      })
      const { connector } = await kit.admin.createSiemConnector({ body: toSyslog(sink.port) })
      await arrive(kit, 50)
      await until(() => stalled === 1, 'the first attempt')
      // As if the holder had been killed: its lease expires without a final state.
      await kit.db.acrossTenants((tx) =>
        tx
          .updateTable('siem_streams')
          .set({ leased_until: new Date(0) })
          .execute(),
      )
      await untilCame(sink.events, 50)
      assert.deepEqual(numbersIn(sink.events()), oneTo(50))
      const before = (await deliveryOf(kit, connector.connector_id)).delivered_seq
      // The first holder times out. It neither moves the delivered sequence number back nor delivers anything twice.
      await arrive(kit, 10, 51)
      await untilCame(sink.events, 60)
      const hasMoved = async () => (await deliveryOf(kit, connector.connector_id)).delivered_seq > before
      await until(hasMoved, 'the place to move')
      requireOrder(sink.events())
    },
  )

  await t.test(
    'a webhook is verified by its own library; what it answers with 413 is halved until one event is a dead letter',
    async () => {
      const kit = await tenantOf(deployment)
      const taken: Received[] = []
      let refuses = true
      const sink = await startHttp(kit, (request, response) => {
        if (refuses && request.body.includes('TOO LARGE')) return response.writeHead(413).end()
        taken.push(...eventsIn(request))
        return response.writeHead(204).end()
      })
      const { connector, secret } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
      const { connector_id } = connector
      await arrive(kit, 60, 1, (n) => (n === 17 || n === 41 ? ' TOO LARGE' : ''))
      await untilCame(() => taken, 58)
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
    'a receiver that is busy is tried again; one that refuses the credential is parked until a test goes well',
    async () => {
      const kit = await tenantOf(deployment)
      const answers = [503, 429]
      let otherwise = 401
      const taken: Received[] = []
      const sink = await startHttp(kit, (request, response) => {
        const status = answers.shift() ?? otherwise
        if (status === 200 && request.body.includes('audit.events')) taken.push(...eventsIn(request))
        response.writeHead(status).end()
      })
      const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
      const { connector_id } = connector
      await arrive(kit, 5)
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
      await untilCame(() => taken, 5)
      assert.ok(sink.requests.length > asked)
      assert.deepEqual(await told(), [])
      assert.equal((await deliveryOf(kit, connector_id)).problem, null)

      // The replica that saw the connector recover ended before it recorded this. The sweep closes the notification,
      // but not one of a failing connector.
      otherwise = 401
      await arrive(kit, 1, 6)
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

  await t.test('a receiver that refuses everything loses nothing: it is parked', async () => {
    const kit = await tenantOf(deployment)
    let status = 400
    const taken: Received[] = []
    const sink = await startHttp(kit, (request, response) => {
      if (status === 200) taken.push(...eventsIn(request))
      response.writeHead(status).end()
    })
    const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    const { connector_id } = connector
    await arrive(kit, 40)
    await until(async () => (await deliveryOf(kit, connector_id)).state === 'parked', 'parked')
    const { dead_letters, problem } = await deliveryOf(kit, connector_id)
    assert.equal(dead_letters, 20)
    assert.match(
      problem ?? '',
      /^It refused 20 events one after the other, the last one so: The receiver answered 400\.$/,
    )
    status = 200
    await kit.admin.replaySiemConnector({ params: { connector_id }, body: { dead_letters: 'all' } })
    await untilCame(() => taken, 40)
    await until(async () => (await deliveryOf(kit, connector_id)).dead_letters === 0, 'no dead letter to be left')
  })
})
