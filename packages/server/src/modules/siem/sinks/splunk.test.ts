import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReceiverAnswer } from './answers.ts'
import type { EventBatch, SinkDeps, SinkTarget } from './sink.ts'
import { sendSplunk } from './splunk.ts'

type Given = { status?: number; body: unknown; retryAfter?: string }
/** A collector that gives these answers, and the addresses requested. */
function collector(...answers: Given[]) {
  const asked: string[] = []
  const request: SinkDeps['outbound']['request'] = async (url) => {
    asked.push(url)
    const { status = 200, body, retryAfter } = answers[asked.length - 1] ?? { body: '' }
    const answer: ReceiverAnswer = {
      status,
      headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    }
    return answer
  }
  const connect = () => Promise.reject(new Error('no socket is needed'))
  const deps: SinkDeps = {
    outbound: { request, connect },
    now: () => new Date(0),
    syslogOrigin: { hostname: 'x', enterprise: 1 },
  }
  const send = (url: string) => sendSplunk(deps, targetAt(url), batch, new AbortController().signal)
  return { asked, send }
}
const targetAt = (url: string): SinkTarget => ({
  kind: 'splunk_hec',
  format: 'json',
  credential: 'token',
  destination: { url, host: null, port: null, index: null, username: null, tls: { ca_pem: null, server_name: null } },
})
const event = { seq: 1, eventId: 'evt_1', kind: 'login.failed', at: new Date(0), text: '{}' }
const batch: EventBatch = { id: 'sic_1.1-1.0123456789abcdef', events: [event] }
const ok = { text: 'Success', code: 0 }

test('a batch is delivered only if the collector confirms it, not by any answer of 200', async () => {
  const notSaid = 'The receiver did not answer like an HTTP Event Collector: check the URL.'
  for (const body of ['', '<html>welcome</html>', '{}', '"OK"', { text: 'Success', code: '0' }, { code: 5 }])
    assert.deepEqual(await collector({ body }).send('https://splunk.example'), { outcome: 'later', answer: notSaid })
  const { outcome } = await collector({ body: ok }).send('https://splunk.example')
  assert.equal(outcome, 'taken')
  const busy = await collector({ body: { text: 'Server is busy', code: 9 } }).send('https://splunk.example')
  assert.deepEqual(busy, { outcome: 'later', answer: 'The receiver answered 200: Server is busy.' })
})

test('the collector path is added once to the path of the URL', async () => {
  for (const [given, at] of [
    ['https://splunk.example', 'https://splunk.example'],
    ['https://splunk.example:8088/', 'https://splunk.example:8088'],
    ['https://proxy.example/splunk', 'https://proxy.example/splunk'],
    ['https://proxy.example/splunk/', 'https://proxy.example/splunk'],
    ['https://splunk.example/services/collector', 'https://splunk.example'],
    ['https://proxy.example/a/services/collector/event/1.0?x=1', 'https://proxy.example/a'],
  ] as const) {
    const { asked, send } = collector({ body: { ...ok, ackId: 7 } }, { body: { acks: { 7: true } } })
    assert.equal((await send(given)).outcome, 'taken')
    assert.deepEqual(
      asked.map((url) => url.replace(/=.*/, '=')),
      [`${at}/services/collector/event`, `${at}/services/collector/ack?channel=`],
      given,
    )
  }
})

test('a busy collector sets the time of the retry', async () => {
  const busy = { status: 503, body: { text: 'Server is busy', code: 9 }, retryAfter: '7' }
  const later = { outcome: 'later', answer: 'The receiver answered 503: Server is busy.', waitMs: 7000 }
  assert.deepEqual(await collector(busy).send('https://splunk.example'), later)
  const asked = await collector({ body: { ...ok, ackId: 1 } }, { ...busy, body: '' }).send('https://splunk.example')
  assert.deepEqual(asked, { outcome: 'later', answer: 'The receiver answered 503.', waitMs: 7000 })
})
