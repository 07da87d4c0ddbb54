import type { IncomingHttpHeaders } from 'node:http'

/**
 * Whether a browser says that its own page of this origin sent the request (Fetch Metadata, or Origin where a client
 * sends that). `undefined`: it says nothing, as clients that are no browsers do.
 */
export function isSameOrigin(headers: IncomingHttpHeaders, publicUrl: string): boolean | undefined {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  return headers.origin === undefined ? undefined : headers.origin === publicUrl
}
