import { setTimeout as delay } from 'node:timers/promises'
import { second } from '../../../kernel/time.ts'
import { below, jsonOf, member, most, outcomeOf, quotedAnswer, type ReceiverAnswer, tlsOf, waitOf } from './answers.ts'
import type { EventBatch, Send, Sent, SinkDeps, SinkTarget } from './sink.ts'

const collector = 'services/collector'
/**
 * The part of this path that may be included in the configured URL, which names the server or a folder before the path.
 */
const given = /\/services\/collector([/?#].*)?$/
/** An indexer acknowledges within this time, or the batch is sent again. */
const ackMs = 20 * second
const askAgainMs = 500

/** Codes about the collector itself, not about an event (Splunk, "Troubleshoot HTTP Event Collector"). */
const codes: Readonly<Record<number, 'parked' | 'later'>> = {
  // The token: disabled, missing, malformed, unknown; the index, the channel and acknowledgement.
  1: 'parked',
  2: 'parked',
  3: 'parked',
  4: 'parked',
  7: 'parked',
  10: 'parked',
  11: 'parked',
  14: 'parked',
  // Busy, shutting down, full.
  8: 'later',
  9: 'later',
  18: 'later',
  19: 'later',
  20: 'later',
  23: 'later',
  26: 'later',
  27: 'later',
}

/**
 * HTTP Event Collector: a sequence of JSON objects. Events are accepted if the answer has code 0, which a proxy or
 * another program behind the URL does not return. If the token requires indexer acknowledgement, they must also be
 * indexed.
 */
export const sendSplunk: Send = async (deps, target, batch, signal) => {
  const { destination, format } = target
  const index = destination.index === null ? '' : `"index":${JSON.stringify(destination.index)},`
  const events = batch.events.map(({ at, text }) => {
    return `{"time":${at.getTime() / 1000},"source":"holdfast","sourcetype":"holdfast:audit:${format}",${index}"event":${text}}`
  })
  const answer = await ask(deps, target, { path: 'event', body: events.join('\n'), channel: channelOf(batch) }, signal)
  const json = jsonOf(answer.body)
  const code = member(json, 'code')
  const said = outcomeOf(answer, quotedAnswer(member(json, 'text')))
  const outcome = typeof code === 'number' ? codes[code] : undefined
  if (outcome === 'later') return { outcome, answer: said.answer, ...waitOf(answer) }
  if (outcome) return { outcome, answer: said.answer }
  if (said.outcome !== 'taken') return said
  if (code !== 0) return { outcome: 'later', answer: notCollector, ...waitOf(answer) }
  const ackId = member(json, 'ackId')
  return typeof ackId === 'number' ? acknowledged(deps, target, { ackId, channel: channelOf(batch) }, signal) : said
}

const notCollector = 'The receiver did not answer like an HTTP Event Collector: check the URL.'

/** A channel is a GUID. It is derived from the batch, so that it stays the same over retries. */
const channelOf = ({ id }: EventBatch): string => {
  const hex = Buffer.from(id).toString('hex').padEnd(32, '0').slice(-32)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

async function acknowledged(
  deps: SinkDeps,
  target: SinkTarget,
  { ackId, channel }: { ackId: number; channel: string },
  signal: AbortSignal,
): Promise<Sent> {
  for (const until = performance.now() + ackMs; performance.now() < until; await delay(askAgainMs, null, { signal })) {
    const asked = {
      path: `ack?channel=${channel}`,
      body: JSON.stringify({ acks: [ackId] }),
      channel,
    }
    const answer = await ask(deps, target, asked, signal)
    const said = outcomeOf(answer)
    if (said.outcome !== 'taken') return { outcome: 'later', answer: said.answer, ...waitOf(answer) }
    if (member(member(jsonOf(answer.body), 'acks'), String(ackId)) === true)
      return { outcome: 'taken', answer: 'The receiver has indexed the event.' }
  }
  return {
    outcome: 'later',
    answer: 'The receiver accepted the events, but did not confirm the indexing in time.',
  }
}

const ask = (
  { outbound }: SinkDeps,
  { destination, credential }: SinkTarget,
  { path, body, channel }: { path: string; body: string; channel: string },
  signal: AbortSignal,
): Promise<ReceiverAnswer> =>
  outbound.request(below((destination.url ?? '').replace(given, ''), `${collector}/${path}`), {
    method: 'POST',
    headers: {
      authorization: `Splunk ${credential}`,
      'content-type': 'application/json',
      'user-agent': 'holdfast',
      'x-splunk-request-channel': channel,
    },
    body,
    tls: tlsOf(destination),
    signal,
    ...most,
  })
