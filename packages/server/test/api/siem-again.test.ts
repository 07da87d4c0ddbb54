import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKit, times } from '../kit.ts'
import { tenantOf } from '../own-tenant.ts'
import { until } from '../promptly.ts'
import { arrive, eventsIn, numbersIn, oneTo, opened, type Received, startHttp, toWebhook, untilCame } from '../siem.ts'
import { deliveryOf } from '../siem-delivery.ts'

test('events of tenants of one deployment of two replicas are sent once more', async (t) => {
  const deployment = await startKit(t, { replicas: 2, config: opened })

  await t.test('a replay goes on from a place or a time', async () => {
    const kit = await tenantOf(deployment)
    const taken: Received[] = []
    const sink = await startHttp(kit, (request, response) => {
      taken.push(...eventsIn(request))
      response.end()
    })
    await arrive(kit, 20)
    const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    const { connector_id } = connector
    const params = { connector_id }
    await until(async () => (await deliveryOf(kit, connector_id)).delivered > 0, 'its own creation')
    assert.deepEqual(numbersIn(taken), [], 'what was before it is not sent')
    const all = await kit.admin.replaySiemConnector({ params, body: { from_seq: 1 } })
    assert.ok(all.events >= 20)
    await untilCame(() => taken, 20)
    assert.deepEqual(numbersIn(taken), oneTo(20))
    assert.equal(taken.findLast((e) => e.kind !== 'user.changed') !== undefined, true)

    taken.length = 0
    await kit.admin.replaySiemConnector({ params, body: { from: new Date(Date.now() - 3600_000).toISOString() } })
    await untilCame(() => taken, 20)
  })

  await t.test(
    'a dead letter that can not be sent again holds up nothing new, and what was taken before it is not sent twice',
    async () => {
      const kit = await tenantOf(deployment)
      const taken: Received[] = []
      const came = () => numbersIn(taken).toSorted((a, b) => a - b)
      let status = (n: number): number => (n <= 3 ? 413 : 200)
      let poisoned = 0
      const sink = await startHttp(kit, (request, response) => {
        const events = eventsIn(request)
        const answer = Math.max(...numbersIn(events).map(status), 200)
        if (answer === 200) taken.push(...events)
        if (answer === 500) poisoned++
        response.writeHead(answer).end()
      })
      const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
      const params = { connector_id: connector.connector_id }
      const letters = async () => (await kit.admin.listSiemDeadLetters({ params })).items
      // Of so many bytes that each is a batch by itself.
      await arrive(kit, 3, 1, () => 'x'.repeat(120 * 1024))
      await until(async () => (await letters()).length === 3, 'three dead letters')
      status = (n) => (n === 3 ? 500 : 200)
      await kit.admin.replaySiemConnector({ params, body: { dead_letters: 'all' } })
      await until(() => poisoned > 0, 'the one that is answered with 500')
      assert.deepEqual(came(), [1, 2])
      await until(async () => (await letters()).length === 1, 'those that were taken to be dead letters no more')
      for (const n of [4, 5]) {
        const before = poisoned
        await arrive(kit, 1, n)
        await until(() => came().includes(n), 'what is new')
        await until(() => poisoned > before, 'another attempt')
      }
      assert.equal(taken.filter((e) => /^n[12]x/.test(String(e.operation))).length, 2, 'each was sent once')
      assert.deepEqual([(await letters()).map((d) => d.replaying)], [[true]])

      // What is sent again from a place on calls off what waits.
      await kit.admin.replaySiemConnector({ params, body: { from: new Date(Date.now() + 3600_000).toISOString() } })
      assert.deepEqual([(await letters()).map((d) => d.replaying)], [[false]])
    },
  )

  await t.test('an export sends the events of a time once more: twenty who ask at once begin one', async () => {
    const kit = await tenantOf(deployment)
    const taken: Received[] = []
    const ids: string[] = []
    const asked = Promise.withResolvers<void>()
    // Until all have asked it is on its way.
    const sink = await startHttp(kit, async (request, response) => {
      await asked.promise
      taken.push(...eventsIn(request))
      ids.push(String(request.headers['webhook-id']))
      response.end()
    })
    await arrive(kit, 20)
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
      /must not be after now/,
    )
  })
})
