import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Kit, loopbackAllowed, startKit } from '../support/deployment/deployment.ts'
import { startTenant } from '../support/deployment/tenants.ts'
import { until } from '../support/deployment/wait-until.ts'
import { changeConnector, deliveryOf, setStream } from '../support/domain/siem-delivery.ts'
import {
  addNumberedEvents,
  eventsIn,
  numbersIn,
  oneTo,
  type ReceivedEvent,
  type ReceivedRequest,
  startHttpReceiver,
  toWebhook,
  untilReceived,
} from '../support/providers/siem-receivers.ts'

type Answer = Parameters<typeof startHttpReceiver>[1]
/** A webhook that is enabled once this number of events waits for it. */
async function waitingFor(kit: Kit, count: number, answer: Answer, padding?: () => string) {
  const sink = await startHttpReceiver(kit, answer)
  const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url, { enabled: false }) })
  await addNumberedEvents(kit, count, 1, padding)
  const onRecord = async () => (await kit.admin.listAuditEvents({ query: { limit: 200 } })).items
  await until(async () => numbersIn((await onRecord()) as never).includes(count), 'places')
  const { connector_id } = connector
  return { ...sink, connector_id, on: () => changeConnector(kit, connector_id, { enabled: true }) }
}
const sizeOf = (request: ReceivedRequest) => eventsIn(request).length

test('slow and busy receivers', { concurrency: true }, async (t) => {
  const deployment = await startKit(t, { config: loopbackAllowed })

  const small = t.test('a refused batch is halved over turns until it is accepted', async () => {
    const kit = await startTenant(deployment)
    const taken: ReceivedEvent[] = []
    const sink = await waitingFor(kit, 400, (request, response) => {
      if (sizeOf(request) > 60) return response.writeHead(503).end()
      taken.push(...eventsIn(request))
      return response.end()
    })
    await sink.on()
    await untilReceived(() => taken, 400)
    assert.deepEqual(numbersIn(taken), oneTo(400))
    const [first = 0, second = 0] = sink.requests.map(sizeOf)
    assert.ok(first >= 400 && second <= first / 2, `${first} ${second}`)
  })

  const refusing = t.test(
    'a receiver that refuses a batch for longer than a turn fails, and the next turn sends half',
    async () => {
      const kit = await startTenant(deployment)
      const sink = await waitingFor(kit, 100, async (_, response) => {
        await delay(10_000)
        response.writeHead(413).end()
      })
      await sink.on()
      const { connector_id } = sink
      await until(async () => (await deliveryOf(kit, connector_id)).state === 'retrying', 'a failure')
      const { problem, failing_since, failed } = await deliveryOf(kit, connector_id)
      assert.deepEqual([problem, failed], ['The receiver answered 413.', 1])
      assert.ok(failing_since)
      await until(() => sink.requests.length === 2, 'the next turn')
      const [first = 0, second = 0] = sink.requests.map(sizeOf)
      assert.ok(second <= first / 2, `${first} ${second}`)
    },
  )

  const anew = t.test(
    'a receiver that accepts something after many failures is retried soon after a new failure',
    async () => {
      const kit = await startTenant(deployment)
      let [asked, isUp] = [0, false]
      // Each event is a batch, and every other attempt fails.
      const sink = await waitingFor(
        kit,
        3,
        (_, response) => response.writeHead(!isUp || asked++ % 2 ? 503 : 200).end(),
        () => 'x'.repeat(120 * 1024),
      )
      await sink.on()
      await until(async () => (await deliveryOf(kit, sink.connector_id)).state === 'retrying', 'a failure')
      isUp = true
      await setStream(kit, sink.connector_id, { failures: 20, due_at: new Date(0), lease: null, leased_until: null })
      await until(() => asked >= 5, 'the third event')
    },
  )

  const patience = t.test('Retry-After is honoured, and a redirect parks the connector', async () => {
    const kit = await startTenant(deployment)
    const answers: [number, Record<string, string>][] = [[503, { 'retry-after': '120' }]]
    const sink = await startHttpReceiver(kit, (_, response) => {
      const [status, headers] = answers.shift() ?? [302, { location: 'http://127.0.0.1:1/' }]
      response.writeHead(status, headers).end()
    })
    const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    const { connector_id } = connector
    await until(async () => (await deliveryOf(kit, connector_id)).state === 'retrying', 'a failure')
    const { next_attempt_at } = await deliveryOf(kit, connector_id)
    const wait = Date.parse(next_attempt_at ?? '') - Date.now()
    assert.ok(wait > 60_000 && wait <= 125_000, String(wait))
    await setStream(kit, connector_id, { due_at: new Date(0) })
    await until(async () => (await deliveryOf(kit, connector_id)).state === 'parked', 'the redirect')
    assert.equal((await deliveryOf(kit, connector_id)).problem, 'The receiver answered 302.')
  })

  const moved = t.test('events under way during a change of the URL go to the new one', async () => {
    const kit = await startTenant(deployment)
    const held = Promise.withResolvers<void>()
    t.after(() => held.resolve())
    const old = await waitingFor(kit, 5, async (_, response) => {
      await held.promise
      response.end()
    })
    const taken: ReceivedEvent[] = []
    const fresh = await startHttpReceiver(kit, (request, response) => {
      taken.push(...eventsIn(request))
      response.end()
    })
    await old.on()
    await until(() => old.requests.length === 1, 'the first attempt')
    await changeConnector(kit, old.connector_id, { url: `${fresh.url}/hook` })
    await untilReceived(() => taken, 5)
    assert.deepEqual([numbersIn(taken), old.requests.length], [oneTo(5), 1])
  })

  await Promise.all([small, refusing, anew, patience, moved])
})
