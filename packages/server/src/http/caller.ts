import type { IncomingHttpHeaders } from 'node:http'
import type { Caller, Stranger } from '../kernel/actor.ts'
import { isOwnOrigin, type Origins } from '../kernel/origins.ts'

export const strangerOf = (headers: IncomingHttpHeaders, sourceIp: string, requestId: string): Stranger => ({
  sourceIp,
  userAgent: headers['user-agent'] ?? null,
  requestId,
})

export const callerOf = (headers: IncomingHttpHeaders, sourceIp: string, requestId: string): Caller => ({
  ...strangerOf(headers, sourceIp, requestId),
  origin: headers['sec-fetch-site'] ? 'console' : 'api',
})

/**
 * Whether a browser says that its own page of this origin sent the request (Fetch Metadata, or Origin where a client
 * sends that). `undefined`: it says nothing, as clients that are no browsers do.
 */
export function isSameOrigin(headers: IncomingHttpHeaders, own: Origins): boolean | undefined {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  return headers.origin === undefined ? undefined : isOwnOrigin(headers.origin, own)
}

/** Whether a browser says that a page of another origin sent the request: what a person opened themselves is of none. */
export const isOfOtherPage = (headers: IncomingHttpHeaders, own: Origins): boolean =>
  headers['sec-fetch-site'] !== 'none' && isSameOrigin(headers, own) === false

/** What the form of a page may want to know of where it was sent from. */
export const sentBy = (headers: IncomingHttpHeaders, own: Origins) => ({
  isSameOrigin: isSameOrigin(headers, own),
  usedOrigin: headers.origin,
})
