import type { CustomFetch } from 'openid-client'
import type { Outbound } from '../../../outbound/outbound.ts'
import { OutboundError } from '../../../outbound/outbound-error.ts'

/** Read with the first sign-in through a provider: few deployments have any. */
export const loadClient = () => import('openid-client')
export const loadJose = () => import('jose')

/** Statuses whose answers have no body, which `Response` insists on. */
const bodiless: readonly number[] = [204, 205, 304]

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
    return new Response(bodiless.includes(answer.status) ? null : new Uint8Array(answer.body), {
      status: Math.max(answer.status, 200),
      headers: type === undefined ? {} : { 'content-type': type },
    })
  }

/** What the guard said where a library has wrapped it. */
export function outboundErrorIn(e: unknown): OutboundError | undefined {
  if (e instanceof OutboundError) return e
  return e instanceof Error && e.cause !== undefined ? outboundErrorIn(e.cause) : undefined
}
