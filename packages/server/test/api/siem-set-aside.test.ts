import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refused } from '../support/clients/answers.ts'
import { loopbackAllowed, startKit, times } from '../support/deployment/deployment.ts'
import { startTenant } from '../support/deployment/tenants.ts'
import { until } from '../support/deployment/wait-until.ts'
import { deliveryOf, isAllSent, setStream } from '../support/domain/siem-delivery.ts'
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

test('an event that blocks a connector, on two replicas', async (t) => {
  const deployment = await startKit(t, { replicas: 2, config: loopbackAllowed })

  for (const [status, state] of [
    [403, 'parked'],
    [500, 'retrying'],
  ] as const)
    await t.test(
      `an event answered with ${status} is named, and set aside once by twenty concurrent requests`,
      async () => {
        const kit = await startTenant(deployment)
        const taken: ReceivedEvent[] = []
        let isPoisoned = true
        const sink = await startHttpReceiver(kit, (request, response) => {
          const events = eventsIn(request)
          if (isPoisoned && numbersIn(events).includes(30)) return response.writeHead(status).end()
          taken.push(...events)
          return response.end()
        })
        const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
        const { connector_id } = connector
        const params = { connector_id }
        await addNumberedEvents(kit, 60)
        const now = () => deliveryOf(kit, connector_id)
        await until(
          async () => (await now()).state === state && (await now()).next_seq !== null,
          'the event to be found',
        )
        await until(() => numbersIn(taken).length === 29, 'the earlier events')
        await until(
          async () => (await now()).delivered_seq === (await now()).next_seq! - 1,
          'the counters of the accepted events',
        )
        const seq = (await now()).next_seq!
        const [event] = (await kit.admin.listAuditEvents({ query: { sort: 'seq', after_seq: seq - 1, limit: 1 } }))
          .items
        assert.deepEqual(numbersIn([event] as never), [30])
        await assert.rejects(kit.admin.setAsideSiemEvent({ params, body: { seq: seq + 1 } }), (e) => {
          return refused(422)(e) && new RegExp(`must be ${seq}, `).test(String(e))
        })

        const done = await times(20, (i) =>
          kit.clientFor(kit.adminKey, kit.replicas[i % 2]).setAsideSiemEvent({ params, body: { seq } }),
        )
        assert.equal(done.filter(({ changed }) => changed).length, 1)
        await untilReceived(() => taken, 59)
        assert.deepEqual(
          numbersIn(taken).toSorted((a, b) => a - b),
          oneTo(60).filter((n) => n !== 30),
        )
        const letters = async () => (await kit.admin.listSiemDeadLetters({ params })).items
        assert.deepEqual(
          (await letters()).map((d) => [d.seq, d.event_id, d.reason]),
          [
            [
              seq,
              event!.event_id,
              `An administrator set the event aside. Earlier problem: The receiver answered ${status}.`,
            ],
          ],
        )
        assert.deepEqual([(await now()).dead_letters, (await now()).next_seq], [1, null])
        const query = { kind: 'siem_connector.set_aside' }
        assert.equal((await kit.admin.listAuditEvents({ query })).items.length, 1)
        await assert.rejects(kit.admin.setAsideSiemEvent({ params, body: { seq: seq + 10_000 } }), refused(422))
        const { items: told } = await kit.admin.listNotifications({ query: { state: 'open' } })
        assert.deepEqual(
          told.map((n) => n.kind),
          ['siem.dead_letters'],
        )

        // An event that is delivered normally can't be set aside.
        await until(() => isAllSent(kit), 'all of it')
        await setStream(kit, connector_id, { due_at: new Date(Date.now() + 3600_000) })
        await addNumberedEvents(kit, 1, 61)
        await until(async () => !(await isAllSent(kit)), 'one more')
        const { delivered_seq } = await now()
        await assert.rejects(
          kit.admin.setAsideSiemEvent({ params, body: { seq: delivered_seq + 1 } }),
          /not blocked by this event/,
        )
        await setStream(kit, connector_id, { due_at: new Date() })

        // A replay from a sequence number delivers it, and a delivered event is no longer a dead letter.
        isPoisoned = false
        await kit.admin.replaySiemConnector({ params, body: { from_seq: seq } })
        await untilReceived(() => taken, 61)
        await until(async () => (await letters()).length === 0, 'the dead letter')
        assert.deepEqual([(await now()).dead_letters, (await now()).lost], [0, 0])
      },
    )
})
