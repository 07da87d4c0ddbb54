import type { IncomingMessage, ServerResponse } from 'node:http'
import { fail } from '../kernel/app-error.ts'
import type { Representation } from '../kernel/representation.ts'
import { type Expected, expecting } from '../kernel/version.ts'

const quote = 0x22
/** One tag of a list (RFC 9110 §8.8.3), weak or strong, at the place where the last one ended. */
const nextTag = /[\s,]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?=,|$)/y

/**
 * Whether a client already has what bears this tag (RFC 9110 §13.1.2). Tags are compared weakly, since a proxy that
 * compresses weakens them; a list and `*` are taken.
 */
export function isKnown(ifNoneMatch: string | undefined, etag: string | undefined): boolean {
  if (ifNoneMatch === undefined || etag === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  // One strong tag, as nearly every client sends it, is this one or another.
  if (ifNoneMatch.charCodeAt(0) === quote && ifNoneMatch.indexOf('"', 1) === ifNoneMatch.length - 1) return false
  nextTag.lastIndex = 0
  for (let found = nextTag.exec(ifNoneMatch); found; found = nextTag.exec(ifNoneMatch))
    if (found[1] === etag) return true
  return false
}

const listOfTags =
  /^[\s,]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:[\s,]*,[\s,]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*[\s,]*$/

/**
 * `If-Match` (RFC 9110 §13.1.1): a tag, a list of tags or `*`. Tags are compared strongly, so a weak one fits nothing.
 */
export function expectedOf(ifMatch: string | undefined): Expected {
  if (ifMatch === undefined) return expecting(undefined)
  if (ifMatch.trim() === '*') return expecting('*')
  if (ifMatch.length > 1024 || !listOfTags.test(ifMatch)) fail('bad_request', 'If-Match: must be tags in quotes, or *')
  return expecting([...ifMatch.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, tag = '']) => (weak ? [] : [tag])))
}

/** A wish to be answered only when there is something new, as far as it is granted. */
export type Hold = {
  readonly seconds: number
  /** Calls when the client has gone, or has its answer; whoever waits gives up then. */
  whenGone: (call: () => void) => void
  /** Whether this is what the client has. */
  knows: (r: Representation<unknown>) => boolean
  /** There is no room to wait: the answer then does not claim that the preference was applied. */
  decline: () => void
}
export type Granted = Hold & { readonly isDeclined: boolean }

/** Seconds for which a request may be held; a connection that ends with its answer is held more briefly. */
const longest = { keptAlive: 300, closing: 55 }
const waitPreference = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i

/** `Prefer: wait=N` (RFC 7240 §4.3) of a GET. */
export function holdOf(
  request: IncomingMessage,
  response: ServerResponse,
  longestWaitSeconds: number,
): Granted | undefined {
  const { method, headers, httpVersion } = request
  if (headers.prefer === undefined || method !== 'GET') return undefined
  const [, asked = '0'] = waitPreference.exec(String(headers.prefer)) ?? []
  const keptAlive = httpVersion !== '1.0' && !/\bclose\b/i.test(headers.connection ?? '')
  const seconds = Math.min(Number(asked), longestWaitSeconds, keptAlive ? longest.keptAlive : longest.closing)
  if (seconds === 0) return undefined
  let isDeclined = false
  return {
    seconds,
    whenGone: (call) => {
      if (response.closed) call()
      else response.once('close', call)
    },
    knows: ({ etag }) => isKnown(headers['if-none-match'], etag),
    decline: () => {
      isDeclined = true
    },
    get isDeclined() {
      return isDeclined
    },
  }
}

/** Made once: an error of its own for every answer, with its stack, costs more than the answer's head. */
const gone = new Error('the client has gone')

/** Settles when the client has gone. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (response.closed) controller.abort(gone)
  else response.once('close', () => controller.abort(gone))
  return controller.signal
}

/** What stands in the answer's header when the wish was granted. */
export const preferenceApplied = ({ seconds }: Hold): string => `wait=${seconds}`
