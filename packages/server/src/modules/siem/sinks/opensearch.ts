import { type Answer, jsonOf, member, most, outcomeOf, quoted, tlsOf } from './answers.ts'
import type { Batch, Send, Sent, Target } from './sink.ts'

/** Of OpenSearch and Elasticsearch: `create` under the event's own id, so that one which is there already stays one. */
export const sendOpensearch: Send = async ({ outbound }, target, batch, signal) => {
  const { destination, format } = target
  const lines = batch.events.flatMap(({ eventId, at, text }) => {
    const head = `"@timestamp":${JSON.stringify(at.toISOString())}`
    const document = format === 'cef' ? `{${head},"message":${JSON.stringify(text)}}` : `{${head},${text.slice(1)}`
    return [JSON.stringify({ create: { _id: eventId } }), document]
  })
  const base = destination.url ?? ''
  const path = `${encodeURIComponent(destination.index ?? '')}/_bulk?filter_path=errors,error,items.*.status,items.*.error`
  const answer = await outbound.request(new URL(path, base.endsWith('/') ? base : `${base}/`).href, {
    method: 'POST',
    headers: {
      authorization: authorizationOf(target),
      'content-type': 'application/x-ndjson',
      'user-agent': 'holdfast',
    },
    body: `${lines.join('\n')}\n`,
    tls: tlsOf(destination),
    signal,
    ...most,
  })
  return readAnswer(answer, batch)
}

const authorizationOf = ({ destination: { username }, credential = '' }: Target): string =>
  username === null ? `ApiKey ${credential}` : `Basic ${Buffer.from(`${username}:${credential}`).toString('base64')}`

/** 201: stored. 409: it was there, from a batch that was sent before. */
const isStored = (status: unknown) => status === 201 || status === 200 || status === 409

function readAnswer(answer: Answer, batch: Batch): Sent {
  const json = jsonOf(answer.body)
  const said = outcomeOf(answer, reasonOf(member(json, 'error')))
  if (said.outcome !== 'taken') return said
  if (member(json, 'errors') === false) return said
  const items = member(json, 'items')
  if (!Array.isArray(items) || items.length !== batch.events.length)
    return { outcome: 'later', answer: 'The receiver did not answer as a bulk request is answered.' }
  const refused = new Map<number, string>()
  for (const [i, item] of items.entries()) {
    const result = member(item, 'create')
    const status = member(result, 'status')
    if (isStored(status)) continue
    const reason = reasonOf(member(result, 'error')) || `It answered ${String(status)}.`
    if (typeof status !== 'number' || status === 429 || status >= 500)
      return { outcome: 'later', answer: `The receiver did not store all of it: ${reason}` }
    if (status === 401 || status === 403 || status === 404)
      return { outcome: 'parked', answer: `The receiver did not store it: ${reason}` }
    refused.set(i, reason)
  }
  return { ...said, refused }
}

const reasonOf = (error: unknown): string =>
  [member(error, 'type'), member(error, 'reason')].map(quoted).filter(Boolean).join(': ')
