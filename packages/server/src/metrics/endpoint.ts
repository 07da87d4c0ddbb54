import { createHash, timingSafeEqual } from 'node:crypto'
import type { Answered, PlainRequest } from '../http/connection/plain-listener.ts'
import { expositionType } from './exposition.ts'

const digestOf = (text: string) => createHash('sha256').update(text).digest()

/** `GET /metrics`, with a bearer token if one is configured. */
export function createMetricsEndpoint({
  collect,
  token,
}: {
  collect: () => Promise<string>
  token: string | undefined
}) {
  const wanted = token === undefined ? undefined : digestOf(`Bearer ${token}`)
  return async ({ method, path, headers }: PlainRequest): Promise<Answered> => {
    if (wanted && !timingSafeEqual(digestOf(headers.authorization ?? ''), wanted))
      return { status: 401, headers: { 'www-authenticate': 'Bearer' } }
    if (path.split('?', 1)[0] !== '/metrics') return { status: 404 }
    if (method !== 'GET') return { status: 405, headers: { allow: 'GET' } }
    return { status: 200, headers: { 'content-type': expositionType }, body: Buffer.from(await collect()) }
  }
}
