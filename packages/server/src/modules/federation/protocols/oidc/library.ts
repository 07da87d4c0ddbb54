import type { CustomFetch } from 'openid-client'
import type { Outbound } from '../../../../outbound/outbound.ts'
import { OutboundError } from '../../../../outbound/outbound-error.ts'

/** Loaded at the first sign-in through a provider: few deployments have any. */
export const loadClient = () => import('openid-client')
export const loadJose = () => import('jose')

/** Sends the library's requests through the outbound guard. Only the guard decides on destinations and timeouts. */
export const fetchThrough =
  (outbound: Pick<Outbound, 'request'>): CustomFetch =>
  async (url, { method, headers, body, signal }) => {
    const answer = await outbound.request(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(body !== undefined && body !== null && { body: String(body) }),
      ...(signal && { signal }),
    })
    const type = answer.headers['content-type']
    // Throws for a status without a body. It is refused like every status other than 200.
    return new Response(new Uint8Array(answer.body), {
      status: answer.status,
      headers: type === undefined ? {} : { 'content-type': type },
    })
  }

/** Finds the outbound guard's error inside an error of a library. */
export function outboundErrorIn(e: unknown): OutboundError | undefined {
  if (e instanceof OutboundError) return e
  return e instanceof Error && e.cause !== undefined ? outboundErrorIn(e.cause) : undefined
}
