import type { IncomingMessage, ServerResponse } from 'node:http'
import { longestHoldSeconds } from '@holdfast/contract/limits'
import { fail } from '../../kernel/app-error.ts'
import type { Representation } from '../../kernel/results.ts'
import { type ExpectedVersion, expecting, expectingSome } from '../../kernel/version.ts'

const quote = 0x22
/** One tag of a list (RFC 9110 §8.8.3), weak or strong, at the end of the previous one. */
const nextTag = /[\s,]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?=,|$)/y

/**
 * True if the client already has the content with this tag (RFC 9110 §13.1.2). Tags are compared weakly, since a
 * compressing proxy weakens them. Lists and `*` are accepted.
 */
export function isKnown(ifNoneMatch: string | undefined, etag: string | undefined): boolean {
  if (ifNoneMatch === undefined || etag === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  // Fast path for a single strong tag, which nearly every client sends.
  if (ifNoneMatch.charCodeAt(0) === quote && ifNoneMatch.indexOf('"', 1) === ifNoneMatch.length - 1) return false
  nextTag.lastIndex = 0
  for (let found = nextTag.exec(ifNoneMatch); found; found = nextTag.exec(ifNoneMatch))
    if (found[1] === etag) return true
  return false
}

const listOfTags =
  /^[\s,]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:[\s,]*,[\s,]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*[\s,]*$/

/**
 * Parses `If-Match` (RFC 9110 §13.1.1): a tag, a list of tags or `*`. Tags are compared strongly, so a weak one never
 * matches. An absent one matches every version, unless the endpoint requires one.
 */
export function expectedOf(ifMatch: string | undefined, use: true | 'required' = true): ExpectedVersion {
  if (ifMatch === undefined) return use === 'required' ? expectingSome : expecting(undefined)
  if (ifMatch.trim() === '*') return expecting('*')
  if (ifMatch.length > 1024 || !listOfTags.test(ifMatch))
    fail('bad_request', 'If-Match: must be entity tags in quotes, or *')
  return expecting([...ifMatch.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, tag = '']) => (weak ? [] : [tag])))
}

/** The granted part of a request to wait for new content. */
export type Hold = {
  readonly seconds: number
  /** Calls when the client has disconnected or has its response, so that the wait ends. */
  whenGone: (call: () => void) => void
  /** True if the client has this content. */
  knows: (r: Representation<unknown>) => boolean
  /** Called if no more requests can be held. The response then does not claim that the preference was applied. */
  decline: () => void
}
export type GrantedHold = Hold & { readonly isDeclined: boolean }

/** Longest wait in seconds. It is shorter for a connection that closes after the response. */
const longest = { keptAlive: longestHoldSeconds, closing: 55 }
const waitPreference = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i

/** Reads `Prefer: wait=N` (RFC 7240 §4.3) of a GET. */
export function holdOf(
  request: IncomingMessage,
  response: ServerResponse,
  longestWaitSeconds: number,
): GrantedHold | undefined {
  const { method, headers, httpVersion } = request
  if (headers.prefer === undefined || method !== 'GET') return undefined
  const [, requestedSeconds = '0'] = waitPreference.exec(String(headers.prefer)) ?? []
  const keptAlive = httpVersion !== '1.0' && !/\bclose\b/i.test(headers.connection ?? '')
  const seconds = Math.min(
    Number(requestedSeconds),
    longestWaitSeconds,
    keptAlive ? longest.keptAlive : longest.closing,
  )
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

/** A shared error: a new one with its stack for each response would cost more than the response's head. */
const clientGone = new Error('the client closed the connection')

/** Returns a signal that aborts when the client disconnects. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (response.closed) controller.abort(clientGone)
  else response.once('close', () => controller.abort(clientGone))
  return controller.signal
}

/** Value of the response's header for a granted wait. */
export const preferenceApplied = ({ seconds }: Hold): string => `wait=${seconds}`
