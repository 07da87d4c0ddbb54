import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import type { Contract, Input } from '@holdfast/contract'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import {
  arrive,
  numbersIn,
  oneTo,
  opened,
  type Received,
  type Request,
  startHttp,
  untilCame,
} from '../support/providers/siem-receivers.ts'

type Body = Input<Contract['createSiemConnector']>['body']
const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const deliveryOf = async ({ admin }: Pick<Kit, 'admin'>, connector_id: string) =>
  (await admin.getSiemConnector({ params: { connector_id } })).delivery
const deadLettersOf = async ({ admin }: Pick<Kit, 'admin'>, connector_id: string) =>
  (await admin.listSiemDeadLetters({ params: { connector_id } })).items

/** An index that answers a bulk request as OpenSearch does: item by item, and 409 for an id that it has. */
function createIndex(judge: (event: Received) => { status: number; error: object } | undefined) {
  const stored = new Map<string, Received>()
  const sent: Received[][] = []
  return {
    stored: () => [...stored.values()],
    sent,
    answer: ({ url, body, headers }: Request, response: ServerResponse) => {
      if (headers.authorization !== `Basic ${Buffer.from('holdfast:pass word').toString('base64')}`)
        return json(response, 401, {
          error: { type: 'security_exception', reason: 'missing credentials' },
          status: 401,
        })
      assert.match(url, /^\/logs\/audit-2026\/_bulk\?/)
      assert.ok(body.endsWith('\n'))
      const lines = body.trimEnd().split('\n')
      const events = lines.flatMap((line, i) => (i % 2 === 1 ? [JSON.parse(line) as Received] : []))
      sent.push(events)
      const items = events.map((event, i) => {
        const { create } = JSON.parse(lines[2 * i]!) as { create: { _id: string } }
        assert.equal(create._id, event.event_id)
        assert.equal(event['@timestamp'], event.timestamp)
        const bad = judge(event)
        if (bad) return { create: bad }
        if (stored.has(create._id))
          return { create: { status: 409, error: { type: 'version_conflict_engine_exception' } } }
        stored.set(create._id, event)
        return { create: { status: 201 } }
      })
      return json(response, 200, { errors: items.some(({ create }) => create.status !== 201), items })
    },
  }
}
const toIndex = (url: string): Body => ({
  kind: 'opensearch',
  name: 'index',
  format: 'json',
  url: `${url}/logs/`,
  index: 'audit-2026',
  username: 'holdfast',
  credential: 'pass word',
})

test('OpenSearch: of a bulk that is stored in part only what is missing is sent again, and what is refused is a dead letter', async (t) => {
  const kit = await startKit(t, { config: opened })
  const number = (e: Received) => numbersIn([e])[0] ?? 0
  let busy = 2
  const index = createIndex((event) => {
    const n = number(event)
    if (n === 40) return { status: 400, error: { type: 'mapper_parsing_exception', reason: 'failed to parse\n[x]' } }
    if (busy > 0 && n % 50 === 7) {
      busy--
      return { status: 429, error: { type: 'rejected_execution_exception', reason: 'queue is full' } }
    }
    return undefined
  })
  const { url } = await startHttp(kit, index.answer)
  const { connector } = await kit.admin.createSiemConnector({ body: toIndex(url) })
  const { connector_id } = connector
  await until(async () => (await deliveryOf(kit, connector_id)).lag_events === 0, 'its own creation')
  index.sent.length = 0
  await arrive(kit, 100)
  await untilCame(index.stored, 99)
  await until(async () => (await deliveryOf(kit, connector_id)).lag_events === 0, 'the cursor')
  assert.deepEqual(
    numbersIn(index.stored()).toSorted((a, b) => a - b),
    oneTo(100).filter((n) => n !== 40),
  )
  const numbers = index.sent.map(numbersIn).filter((some) => some.length > 0)
  assert.deepEqual(numbers, [oneTo(100), [7, 57]], 'what was stored is not sent again')
  const dead = await deadLettersOf(kit, connector_id)
  assert.deepEqual(
    dead.map((d) => d.reason),
    ['mapper_parsing_exception: failed to parse\ufffd[x]'],
  )
  const { dead_letters, delivered, lost, state } = await deliveryOf(kit, connector_id)
  assert.deepEqual([dead_letters, lost, state], [1, 0, 'active'])
  assert.ok(delivered >= 99)
})

test('OpenSearch: an index that stays too busy is asked later, with everything, and stores nothing twice', async (t) => {
  const kit = await startKit(t, { config: opened })
  let refusals = 5
  const index = createIndex((event) =>
    numbersIn([event])[0] === 3 && refusals-- > 0
      ? { status: 503, error: { type: 'unavailable_shards_exception', reason: 'primary shard is not active' } }
      : undefined,
  )
  const { url } = await startHttp(kit, index.answer)
  await arrive(kit, 1, 0)
  const { connector } = await kit.admin.createSiemConnector({ body: toIndex(url) })
  await arrive(kit, 10)
  await untilCame(index.stored, 10)
  assert.equal(new Set(index.stored().map((e) => e.event_id)).size, index.stored().length)
  const { problem, failed } = await deliveryOf(kit, connector.connector_id)
  assert.ok(failed >= 1 || problem?.includes('primary shard is not active'))
})

test('Splunk: the token and the channel are sent, and what is acknowledged later is waited for', async (t) => {
  const kit = await startKit(t, { config: opened })
  const taken: Received[] = []
  const waiting = new Map<number, Received[]>()
  let asked = 0
  const sink = await startHttp(kit, ({ url, headers, body }, response) => {
    if (headers.authorization !== 'Splunk token-1') return json(response, 403, { text: 'Invalid token', code: 4 })
    const channel = String(headers['x-splunk-request-channel'])
    assert.match(channel, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    if (url.startsWith('/services/collector/ack')) {
      const { acks } = JSON.parse(body) as { acks: number[] }
      const isIndexed = asked++ % 2 === 1
      if (isIndexed) for (const id of acks) taken.push(...(waiting.get(id) ?? []))
      return json(response, 200, { acks: Object.fromEntries(acks.map((id) => [id, isIndexed])) })
    }
    const events = body.split('\n').map((line) => JSON.parse(line) as { event: Received; index: string; time: number })
    if (events.some(({ event }) => numbersIn([event])[0] === 13))
      return json(response, 400, { text: 'Invalid data format', code: 6, 'invalid-event-number': 12 })
    for (const { event, index, time } of events) {
      assert.equal(index, 'audit')
      assert.equal(time, Date.parse(String(event.timestamp)) / 1000)
    }
    waiting.set(
      waiting.size,
      events.map(({ event }) => event),
    )
    return json(response, 200, { text: 'Success', code: 0, ackId: waiting.size - 1 })
  })
  const { connector } = await kit.admin.createSiemConnector({
    body: { kind: 'splunk_hec', name: 'splunk', format: 'json', url: sink.url, index: 'audit', credential: 'token-0' },
  })
  const { connector_id } = connector
  const params = { connector_id }
  await arrive(kit, 20)
  await until(async () => (await deliveryOf(kit, connector_id)).state === 'parked', 'the wrong token')
  assert.equal((await deliveryOf(kit, connector_id)).problem, 'The receiver answered 403: Invalid token.')
  // With the right credential the delivery continues by itself.
  const { delivery, ...shown } = await kit.admin.getSiemConnector({ params })
  assert.equal(delivery.delivered, 0)
  await kit.admin.updateSiemConnector({ params, body: { ...shown, credential: 'token-1' } })
  await untilCame(() => taken, 19)
  assert.deepEqual(
    numbersIn(taken),
    oneTo(20).filter((n) => n !== 13),
  )
  assert.deepEqual(
    (await deadLettersOf(kit, connector_id)).map((d) => d.reason),
    ['The receiver answered 400: Invalid data format.'],
  )
})
