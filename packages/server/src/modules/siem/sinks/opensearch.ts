import { setTimeout as delay } from 'node:timers/promises'
import { second } from '../../../kernel/time.ts'
import { below, jsonOf, member, most, outcomeOf, quotedAnswer, type ReceiverAnswer, tlsOf } from './answers.ts'
import type { Encoded, Send, Sent, SinkDeps, SinkTarget } from './sink.ts'

/** Attempts for events that a busy receiver did not store, before the whole batch is retried later. */
const tries = 4
const shortestPause = second / 2

/**
 * Sends to OpenSearch and Elasticsearch: `create` under the event's own id, so that an event is never stored twice.
 * After a partial success only the missing events are sent again.
 */
export const sendOpensearch: Send = async (deps, target, { events }, signal) => {
  const refused = new Map<number, string>()
  let left = [...events.keys()]
  for (let attempt = 1; ; attempt++) {
    const some = left.flatMap((i) => events[i] ?? [])
    const { said, items } = readAnswer(await post(deps, target, some, signal), some.length)
    if (said.outcome !== 'taken')
      // An earlier attempt with these events was accepted, so nothing is discarded now.
      return attempt > 1 && said.outcome === 'refused' ? { ...said, outcome: 'later' } : said
    const missing: number[] = []
    for (const [nth, { reason, isBusy }] of items) {
      const i = left[nth] ?? 0
      if (isBusy) missing.push(i)
      else refused.set(i, reason)
    }
    if (missing.length === 0) return { ...said, refused }
    if (attempt === tries)
      return { outcome: 'later', answer: `The receiver did not store all events: ${reasonIn(items)}` }
    left = missing
    await delay(shortestPause * 2 ** (attempt - 1), undefined, { signal })
  }
}

const reasonIn = (items: Items) => [...items.values()].find(({ isBusy }) => isBusy)?.reason ?? ''

function post({ outbound }: SinkDeps, target: SinkTarget, events: readonly Encoded[], signal: AbortSignal) {
  const { destination, format } = target
  const lines = events.flatMap(({ eventId, at, text }) => {
    const head = `"@timestamp":${JSON.stringify(at.toISOString())}`
    const document = format === 'cef' ? `{${head},"message":${text}}` : `{${head},${text.slice(1)}`
    return [JSON.stringify({ create: { _id: eventId } }), document]
  })
  const path = `${encodeURIComponent(destination.index ?? '')}/_bulk?filter_path=errors,error,items.*.status,items.*.error`
  return outbound.request(below(destination.url ?? '', path), {
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
}

const authorizationOf = ({ destination: { username }, credential = '' }: SinkTarget): string =>
  username === null ? `ApiKey ${credential}` : `Basic ${Buffer.from(`${username}:${credential}`).toString('base64')}`

/** Events that were not stored, by index in the request: the receiver was busy, or refused them for good. */
type Items = ReadonlyMap<number, { reason: string; isBusy: boolean }>
const nothing: Items = new Map()

/** 201: stored. 409: already stored by an earlier batch. */
const isStored = (status: unknown) => status === 201 || status === 200 || status === 409
const isBusy = (status: unknown) => typeof status !== 'number' || status === 429 || status >= 500

function readAnswer(answer: ReceiverAnswer, count: number): { said: Sent; items: Items } {
  const json = jsonOf(answer.body)
  const said = outcomeOf(answer, reasonOf(member(json, 'error')))
  if (said.outcome !== 'taken' || member(json, 'errors') === false) return { said, items: nothing }
  const items = member(json, 'items')
  if (!Array.isArray(items) || items.length !== count)
    return {
      said: { outcome: 'later', answer: 'The receiver did not answer like the bulk API of OpenSearch: check the URL.' },
      items: nothing,
    }
  const bad = new Map<number, { reason: string; isBusy: boolean }>()
  for (const [i, item] of items.entries()) {
    const result = member(item, 'create')
    const status = member(result, 'status')
    if (isStored(status)) continue
    const reason = reasonOf(member(result, 'error')) || `It answered ${String(status)}.`
    // The credential or the index is wrong: all events are affected, and waiting does not help.
    if (status === 401 || status === 403 || status === 404)
      return { said: { outcome: 'parked', answer: `The receiver did not store the event: ${reason}` }, items: nothing }
    bad.set(i, { reason, isBusy: isBusy(status) })
  }
  return { said, items: bad }
}

const reasonOf = (error: unknown): string =>
  [member(error, 'type'), member(error, 'reason')].map(quotedAnswer).filter(Boolean).join(': ')
