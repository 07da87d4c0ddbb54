import { type Client, createClient } from './client.ts'
import { ConnectionError } from './errors.ts'
import { createSender, type Reply, type SenderOptions } from './send.ts'

type Connection = Pick<SenderOptions, 'baseUrl' | 'dispatcher' | 'headers'>

/** A client for administration, by API key or by the cookie of a session that `signIn` started. */
export function createAdmin({
  apiKey,
  ...options
}: Connection & ({ apiKey: string } | { apiKey?: never; cookie: string })): Client {
  return createClient({ ...options, ...(apiKey !== undefined && { credential: apiKey }) })
}

export type SignedIn = {
  client: Client
  /** `name=value`, as `createAdmin` takes it. */
  cookie: string
  user: { user_id: string; username: string; tenant_id: string }
  /** RFC 3339 */
  expiresAt: string
}

/** Signs in with a local account. Throws `ApiError` `unauthorized` whatever was wrong with name or password. */
export async function signIn({
  username,
  password,
  ...connection
}: Connection & { username: string; password: string }): Promise<SignedIn> {
  const origin = new URL(connection.baseUrl).origin
  const send = createSender({ ...connection, headers: { ...connection.headers, origin } })
  const { body, headers } = await send('login', { body: { username, password } })
  const cookie = sessionCookie(headers)
  if (!body || !cookie) throw new ConnectionError(`${connection.baseUrl} signed in without giving a session cookie.`)
  const client = createAdmin({ ...connection, cookie })
  return { client, cookie, user: body.user, expiresAt: body.expires_at }
}

function sessionCookie(headers: Reply<unknown>['headers']): string | undefined {
  return [headers['set-cookie'] ?? []]
    .flat()
    .map((line) => line.split(';')[0] ?? '')
    .find((pair) => /^(__Host-)?holdfast_session=./.test(pair))
}
