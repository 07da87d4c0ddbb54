import { setTimeout as delay } from 'node:timers/promises'
import { minute, second } from '../../../kernel/time.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import { OutboundError } from '../../../outbound/outbound-error.ts'
import { PullError } from './pull-error.ts'

type Answer = { json: unknown; headers: Readonly<Record<string, unknown>> }
/** Sends a request with a token. `what` names the requested data in error messages. */
export type Ask = (url: string, what: string, headers?: Record<string, string>) => Promise<Answer>
/** Address and form fields of a token request. */
export type AccessTokenRequest = { url: string; form: Record<string, string> }
type Patience = {
  /** For one whole request. */
  timeoutMs: number
  /** Delay before each retry, in ms. */
  waits: readonly number[]
}
type AskingDeps = {
  outbound: Pick<Outbound, 'request'>
  /** Scheme, host and port of the directory. Requests with the token go nowhere else. */
  origin: string
  token: () => AccessTokenRequest | Promise<AccessTokenRequest>
  signal: AbortSignal
  timeouts?: Patience
  /** Called for each request, and before the wait for each retry. */
  onRequest?: () => void
  onWait?: (ms: number) => Promise<void>
}
type Sent = Awaited<ReturnType<Outbound['request']>>

const usual: Patience = { timeoutMs: 20 * second, waits: [250, second, 4 * second] }
const maxPageBytes = 8 * 1024 * 1024
const maxTokenBytes = 64 * 1024
/** Maximum number of 429 answers to one request, and longest wait (ms) that a directory may ask for. */
const mostThrottled = 10
const longestWait = 2 * minute
/** Time before its expiry at which a token is replaced, in ms; at most half of its lifetime. */
const earlier = 30 * second

/** HTTP client for one directory: keeps the token in memory only, limits retries, and contacts no other host. */
export function createAsking(deps: AskingDeps): Ask {
  const { outbound, origin, signal, timeouts = usual, onRequest = () => {}, onWait = async () => {} } = deps
  let token: { text: string; until: number } | undefined

  /** Retries after errors that may be temporary: too many requests, server errors, no answer. */
  async function send(what: string, url: string, options: Parameters<Outbound['request']>[1]): Promise<Sent> {
    let throttled = 0
    for (let tried = 0; ; ) {
      onRequest()
      const outcome = await outbound
        .request(url, { ...options, timeoutMs: timeouts.timeoutMs, signal })
        .catch((e: unknown) => (e instanceof OutboundError ? e : Promise.reject(e)))
      signal.throwIfAborted()
      if (!(outcome instanceof OutboundError) && outcome.status !== 429 && outcome.status < 500) return outcome
      const isThrottled = !(outcome instanceof OutboundError) && outcome.status === 429
      const wait = isThrottled ? timeouts.waits[Math.min(throttled, timeouts.waits.length - 1)] : timeouts.waits[tried]
      if (isThrottled ? ++throttled > mostThrottled : wait === undefined || !mayPass(outcome))
        throw failureOf(what, outcome)
      if (!isThrottled) tried++
      const waitMs = outcome instanceof OutboundError ? 0 : askedToWait(outcome)
      if (waitMs > longestWait)
        throw new PullError(
          'unreachable',
          `${what} could not be read: the directory asked to wait ${Math.ceil(waitMs / second)} seconds.`,
        )
      const ms = Math.max((wait ?? 0) * (0.75 + Math.random() / 2), waitMs)
      await onWait(ms)
      await delay(ms, undefined, { signal, ref: false })
    }
  }

  async function freshToken(): Promise<string> {
    const { url, form } = await deps.token()
    const answer = await send('A token', url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams(form).toString(),
      maxResponseBytes: maxTokenBytes,
    })
    const tokenAnswer = answerFields(jsonOf(answer.body))
    if (answer.status !== 200) {
      const oauthError =
        typeof tokenAnswer.error === 'string' && /^[a-z_]{1,64}$/.test(tokenAnswer.error)
          ? tokenAnswer.error
          : answer.status
      throw new PullError(
        'credential',
        `The directory issued no token for the client id and its credential (${oauthError}): check both.`,
      )
    }
    const { access_token: text, expires_in: seconds } = tokenAnswer
    if (typeof text !== 'string' || text === '' || /[^\x21-\x7e]/.test(text))
      throw new PullError('answer', 'The directory answered without a valid token.')
    const lives = typeof seconds === 'number' && seconds > 0 ? seconds * second : minute
    token = { text, until: performance.now() + Math.max(lives - earlier, lives / 2) }
    return text
  }
  const heldToken = () => (token && performance.now() < token.until ? token.text : freshToken())

  return async (url, what, headers = {}) => {
    if (!URL.canParse(url) || new URL(url).origin !== origin)
      throw new PullError(
        'elsewhere',
        `${what}: a link leads to a host other than that of the directory; that host was not contacted.`,
      )
    const get = async () =>
      send(what, url, {
        headers: { ...headers, accept: 'application/json', authorization: `Bearer ${await heldToken()}` },
        maxResponseBytes: maxPageBytes,
      })
    let answer = await get()
    if (answer.status === 401) {
      token = undefined
      answer = await get()
    }
    if (answer.status !== 200) throw refusalOf(what, answer)
    const json = jsonOf(answer.body)
    if (json === undefined) throw new PullError('answer', `${what}: the answer of the directory is not JSON.`)
    return { json, headers: answer.headers }
  }
}

/**
 * True for server errors and network errors, which may be temporary. A request refused by the outbound rules, or an
 * answer that is too large, stays so.
 */
const mayPass = (outcome: Sent | OutboundError): boolean =>
  outcome instanceof OutboundError ? !['refused', 'too_large'].includes(outcome.code) : outcome.status >= 500

const failureOf = (what: string, outcome: Sent | OutboundError): PullError => {
  if (!(outcome instanceof OutboundError))
    return new PullError('unreachable', `${what} could not be read: the directory answered ${outcome.status}.`)
  const code = outcome.code === 'too_large' ? 'too_large' : 'unreachable'
  return new PullError(code, `${what} could not be read: ${outcome.message}`, outcome)
}
function refusalOf(what: string, { status, body }: Sent): PullError {
  const code = answerFields(answerFields(jsonOf(body)).error).code
  // Microsoft Graph no longer keeps the state of the delta link.
  if (status === 410 || (status === 400 && typeof code === 'string' && /^syncState(NotFound|Invalid)$/i.test(code)))
    return new PullError('gone', `${what}: the directory no longer accepts its change token.`)
  if (status === 401) return new PullError('credential', `${what}: the directory refused the token that it issued.`)
  if (status === 403)
    return new PullError('forbidden', `${what}: the client has no permission to read them. Grant it at the directory.`)
  return new PullError('answer', `${what} could not be read: the directory answered ${status}.`)
}

/** Requested wait in ms: `Retry-After` in seconds or as a date, or the reset time of Okta's rate limit. */
function askedToWait({ status, headers }: Sent): number {
  const after = headers['retry-after']
  if (typeof after === 'string') {
    if (/^\d{1,6}$/.test(after)) return Number(after) * second
    const at = Date.parse(after)
    return Number.isNaN(at) ? 0 : Math.max(0, at - Date.parse(String(headers.date ?? '')) || 0)
  }
  const reset = Number(headers['x-rate-limit-reset'])
  const serverTime = Date.parse(String(headers.date ?? ''))
  return status === 429 && reset > 0 && !Number.isNaN(serverTime) ? Math.max(0, reset * second - serverTime) : 0
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Fields of a JSON object; none for any other value. */
export const answerFields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
export const listOf = (value: unknown, what: string): readonly unknown[] => {
  if (Array.isArray(value)) return value
  throw new PullError('answer', `${what}: the answer of the directory is not a list.`)
}
/** Reads the directory's ID of an entry. An entry without one cannot be identified, so this throws. */
export const idIn = (entry: Readonly<Record<string, unknown>>, what: string): string => {
  const { id } = entry
  if (typeof id === 'string' && /^[\x21-\x7e]{1,256}$/.test(id)) return id
  throw new PullError('answer', `${what}: the answer of the directory has an entry without an id.`)
}
export const wordsIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
