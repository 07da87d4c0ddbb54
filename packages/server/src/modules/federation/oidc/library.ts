import type { CustomFetch } from 'openid-client'
import type { Outbound } from '../../../outbound/outbound.ts'
import { OutboundError } from '../../../outbound/outbound-error.ts'

/** Read with the first sign-in through a provider: few deployments have any. */
export const loadClient = () => import('openid-client')
export const loadJose = () => import('jose')

/** Sends the requests of the library through the guard, which alone says where they may go and how long they take. */
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
    // Throws for a status whose answers have no body, which is refused as any other that is not 200.
    return new Response(new Uint8Array(answer.body), {
      status: answer.status,
      headers: type === undefined ? {} : { 'content-type': type },
    })
  }

/** What the guard said where a library has wrapped it. */
export function outboundErrorIn(e: unknown): OutboundError | undefined {
  if (e instanceof OutboundError) return e
  return e instanceof Error && e.cause !== undefined ? outboundErrorIn(e.cause) : undefined
}
