import type { IncomingHttpHeaders } from 'node:http'
import type { AnonymousCaller, Caller } from '../../kernel/actor.ts'
import { isOwnOrigin, type Origins } from '../../kernel/origins.ts'

export const anonymousCallerOf = (
  headers: IncomingHttpHeaders,
  sourceIp: string,
  requestId: string,
): AnonymousCaller => ({
  sourceIp,
  userAgent: headers['user-agent'] ?? null,
  requestId,
})

export const callerOf = (headers: IncomingHttpHeaders, sourceIp: string, requestId: string): Caller => ({
  ...anonymousCallerOf(headers, sourceIp, requestId),
  origin: headers['sec-fetch-site'] ? 'console' : 'api',
})

/**
 * True if the browser reports that a page of this origin sent the request (by Fetch Metadata, or by Origin). Undefined
 * without such headers, as for other clients.
 */
export function isSameOrigin(headers: IncomingHttpHeaders, own: Origins): boolean | undefined {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  return headers.origin === undefined ? undefined : isOwnOrigin(headers.origin, own)
}

/**
 * True if the browser reports that a page of another origin sent the request. A page opened by the person directly is
 * not one.
 */
export const isOfOtherPage = (headers: IncomingHttpHeaders, own: Origins): boolean =>
  headers['sec-fetch-site'] !== 'none' && isSameOrigin(headers, own) === false

/** Returns the origin data that a form handler may need. */
export const sentBy = (headers: IncomingHttpHeaders, own: Origins) => ({
  isSameOrigin: isSameOrigin(headers, own),
  usedOrigin: headers.origin,
})
