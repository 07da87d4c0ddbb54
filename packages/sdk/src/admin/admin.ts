import { type Operation, operations } from '@holdfast/contract'
import type { RequiredAction } from '@holdfast/contract/vocabulary'
import { type Client, createClient } from '../client.ts'
import { ConnectionError } from '../errors.ts'
import { createSender, type Reply, type RequestOptions, type SenderOptions } from '../send.ts'
import { tagged } from '../versions.ts'

type Connection = Pick<SenderOptions, 'baseUrl' | 'dispatcher' | 'headers'>
type OnCookie = {
  /**
   * Receives the session's new cookie (`name=value`) before the call that renewed it returns. A step-up, a change of
   * the own password and a new second factor each replace the cookie. The client itself continues with the new one.
   */
  onCookie?: ((cookie: string) => void | Promise<void>) | undefined
}

/** Creates a client for administration, with an API key or with the cookie of a session that `signIn` started. */
export function createAdmin(
  options: Connection & ({ apiKey: string } | ({ apiKey?: never; cookie: string } & OnCookie)),
): Client {
  if (options.apiKey === undefined) return createSessionClient(options)
  const { apiKey, ...connection } = options
  return createClient({ ...connection, credential: apiKey })
}

function createSessionClient({ cookie, onCookie, ...connection }: Connection & { cookie: string } & OnCookie): Client {
  let current = cookie
  const send = createSender({
    ...connection,
    get cookie() {
      return current
    },
  })
  const method = (name: Operation) => async (input?: object, options?: RequestOptions) => {
    const reply = await send(name, input, options)
    const renewed = sessionCookie(reply.headers)
    if (renewed !== undefined) {
      current = renewed
      await onCookie?.(renewed)
    }
    return tagged(reply)
  }
  return Object.fromEntries(operations.map(([name]) => [name, method(name)])) as Client
}

export type SignedIn = {
  client: Client
  /** `name=value`, as `createAdmin` takes it. */
  cookie: string
  user: { user_id: string; username: string; tenant_id: string }
  /** RFC 3339 */
  expiresAt: string
  /**
   * Action that the user must take first. Until then only it, `me` and `logout` are allowed; everything else is
   * `forbidden`.
   */
  requiredAction: RequiredAction | null
}

/**
 * Signs in with a local account; with `totp` or `recovery_code` if the user has a second factor. Throws `ApiError`
 * `unauthorized` for any wrong or missing value.
 */
export async function signIn({
  username,
  password,
  totp,
  recovery_code,
  onCookie,
  ...connection
}: Connection &
  OnCookie & { username: string; password: string } & {
    totp?: string | undefined
    recovery_code?: string | undefined
  }): Promise<SignedIn> {
  const origin = new URL(connection.baseUrl).origin
  const send = createSender({ ...connection, headers: { ...connection.headers, origin } })
  // Undefined fields are left out of the body.
  const { body, headers } = await send('login', { body: { username, password, totp, recovery_code } })
  const cookie = sessionCookie(headers)
  if (!body || !cookie)
    throw new ConnectionError(`${connection.baseUrl} accepted the sign-in, but sent no session cookie: check the URL.`)
  const client = createAdmin({ ...connection, cookie, onCookie })
  return { client, cookie, user: body.user, expiresAt: body.expires_at, requiredAction: body.required_action }
}

function sessionCookie(headers: Reply<unknown>['headers']): string | undefined {
  return [headers['set-cookie'] ?? []]
    .flat()
    .map((line) => line.split(';')[0] ?? '')
    .find((pair) => /^(__Host-)?holdfast_session=./.test(pair))
}
