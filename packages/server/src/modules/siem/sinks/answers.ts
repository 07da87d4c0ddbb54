import { minute, second } from '../../../kernel/time.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import { OutboundError } from '../../../outbound/outbound-error.ts'
import type { Sent } from './sink.ts'

export type Answer = Awaited<ReturnType<Outbound['request']>>

const longestWait = 5 * minute
/** Its answer is no more than this; what says why it refused stands in front. */
export const most = { timeoutMs: 15 * second, maxResponseBytes: 1024 * 1024, whenTooLarge: 'cut' } as const

/** A text of a receiver, for a sentence of ours: one line and short. */
export const quoted = (text: unknown): string =>
  typeof text === 'string' ? text.replaceAll(/[^\P{C}]|[\u2028\u2029]/gu, '\ufffd').slice(0, 200) : ''

/** What a status says of a batch; `said` is what the answer tells beside it. */
export function outcomeOf({ status, headers }: Pick<Answer, 'status' | 'headers'>, said = ''): Sent {
  const answer = `The receiver answered ${status}${said && `: ${said}`}.`
  if (status >= 200 && status < 300) return { outcome: 'taken', answer }
  if (status === 408 || status === 425 || status === 429 || status >= 500)
    return { outcome: 'later', answer, ...waitOf({ headers }) }
  if (status === 400 || status === 413 || status === 422) return { outcome: 'refused', answer }
  // The credential (401, 403, 407), the URL (3xx, 404, 405, 410) or its nature (415, 426 …) are wrong for all events.
  return { outcome: 'parked', answer }
}

/** Retry-After in seconds (RFC 9110 §10.2.3); its other form, a date, is of another clock. */
export function waitOf({ headers }: Pick<Answer, 'headers'>): { waitMs?: number } {
  const header = headers['retry-after']
  const seconds = typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) : undefined
  return seconds === undefined ? {} : { waitMs: Math.min(seconds * second, longestWait) }
}

/** What was thrown instead of an answer. */
export function failureOf(e: unknown): Sent {
  if (!(e instanceof OutboundError)) throw e
  if (e.code === 'refused') return { outcome: 'parked', answer: e.message }
  return { outcome: e.code === 'too_large' ? 'refused' : 'later', answer: e.message }
}

/** A path below that of the URL which was set; what else stands in that URL is left out. */
export function below(url: string, path: string): string {
  const { origin, pathname } = new URL(url)
  return new URL(path, `${origin}${pathname.endsWith('/') ? pathname : `${pathname}/`}`).href
}

/** JSON of an answer; undefined where it is none, or cut. */
export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}
/** A member of what may be anything. */
export const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined

export const tlsOf = ({ tls }: { tls: { ca_pem: string | null; server_name: string | null } }) => ({
  ca: tls.ca_pem,
  serverName: tls.server_name,
})
