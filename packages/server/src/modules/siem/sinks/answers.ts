import { minute, second } from '../../../kernel/time.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import { OutboundError } from '../../../outbound/outbound-error.ts'
import type { Sent } from './sink.ts'

export type ReceiverAnswer = Awaited<ReturnType<Outbound['request']>>

const longestWait = 5 * minute
/** Limits of an answer. The reason for a refusal stands at its beginning, so the rest is cut. */
export const most = { timeoutMs: 15 * second, maxResponseBytes: 1024 * 1024, whenTooLarge: 'cut' } as const

/** Quotes a text of a receiver in a message: one line, shortened. */
export const quotedAnswer = (text: unknown): string =>
  typeof text === 'string' ? text.replaceAll(/[^\P{C}]|[\u2028\u2029]/gu, '\ufffd').slice(0, 200) : ''

/** Derives the outcome of a batch from the status. `said`: the receiver's own text. */
export function outcomeOf({ status, headers }: Pick<ReceiverAnswer, 'status' | 'headers'>, said = ''): Sent {
  const answer = `The receiver answered ${status}${said && `: ${said}`}.`
  if (status >= 200 && status < 300) return { outcome: 'taken', answer }
  if (status === 408 || status === 425 || status === 429 || status >= 500)
    return { outcome: 'later', answer, ...waitOf({ headers }) }
  if (status === 400 || status === 413 || status === 422) return { outcome: 'refused', answer }
  // The credential (401, 403, 407), the URL (3xx, 404, 405, 410) or the service (415, 426 …) is wrong for all events.
  return { outcome: 'parked', answer }
}

/** Reads Retry-After in seconds (RFC 9110 §10.2.3). Its other form, a date, depends on the receiver's clock. */
export function waitOf({ headers }: Pick<ReceiverAnswer, 'headers'>): { waitMs?: number } {
  const header = headers['retry-after']
  const seconds = typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) : undefined
  return seconds === undefined ? {} : { waitMs: Math.min(seconds * second, longestWait) }
}

/** Derives the outcome from an error without an answer. */
export function failureOf(e: unknown): Sent {
  if (!(e instanceof OutboundError)) throw e
  if (e.code === 'refused') return { outcome: 'parked', answer: e.message }
  return { outcome: e.code === 'too_large' ? 'refused' : 'later', answer: e.message }
}

/** Appends a path to that of the configured URL. Query and fragment of that URL are dropped. */
export function below(url: string, path: string): string {
  const { origin, pathname } = new URL(url)
  return new URL(path, `${origin}${pathname.endsWith('/') ? pathname : `${pathname}/`}`).href
}

/** Parses the JSON of an answer. Undefined if it is invalid or cut. */
export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}
/** Returns a member of a value of any type. */
export const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined

export const tlsOf = ({ tls }: { tls: { ca_pem: string | null; server_name: string | null } }) => ({
  ca: tls.ca_pem,
  serverName: tls.server_name,
})
