import type { CredentialKind } from '@holdfast/contract/vocabulary'
import type { PresentedToken as ReadToken } from '@holdfast/crypto'
import type { FastifyRequest } from 'fastify'
import type { AnonymousCaller, Principal, RefusedCredential, TenantId } from '../../kernel/actor.ts'
import { DeviceThrottled } from '../../kernel/app-error.ts'
import type { Log } from '../../kernel/log.ts'
import { toAppError } from '../answer/error-response.ts'
import type { Refuse } from './refuse.ts'

/** Data of a request for verifiers, without its body. */
export type IncomingRequest = {
  method: string
  /** Path and query as received. */
  url: string
  path: string
  sourceIp: string
  dpop: string | string[] | undefined
  /** True for a request by a timer or a stream, not a person: it does not extend a session. */
  background: boolean
  /** Set if the credential is checked again during a response, which does not count as a use. */
  isAgain?: true
  /** Parameters with the tenant or gateway for the deployment-wide gateway secret. */
  scope: { tenant_id?: string; gateway_id?: string }
}
/** A token of this deployment. Its MAC authenticates the tenant id in it. */
export type PresentedToken = ReadToken<TenantId>
/** The principal; a refused credential that was issued here; undefined for any other. */
export type CredentialVerdict = Principal | RefusedCredential | undefined
type Verify<Presented> = (
  presented: Presented,
  request: IncomingRequest,
) => CredentialVerdict | Promise<CredentialVerdict>
/** One verifier for each kind of credential. */
export type Verifiers = { [K in Exclude<CredentialKind, 'device'>]: Verify<PresentedToken> } & {
  device: Verify<string>
  /** Returns undefined for a text that this deployment did not issue. No other verifier gets it. */
  readToken: (text: string) => PresentedToken | undefined
  /** The deployment-wide gateway secret, which can't be recognised by its format. */
  service: { is: (text: string) => boolean; verify: Verify<string> }
}

const kindOfPrefix = { hfk: 'api_key', hfg: 'gateway', hfe: 'enrollment_token', hfc: 'enrollment_challenge' } as const
const sessionCookies: readonly string[] = ['__Host-holdfast_session', 'holdfast_session']

/**
 * Chooses exactly one verifier by the format of the credential; there is no second try. A cookie together with an
 * Authorization header is refused.
 */
export function authenticate(
  verifiers: Verifiers,
  request: FastifyRequest,
  incoming: IncomingRequest,
): CredentialVerdict | Promise<CredentialVerdict> {
  const authorization = request.headers.authorization
  const cookie = sessionCookie(request.headers.cookie)
  if (authorization === undefined) return cookie ? verifyCookie(verifiers, cookie, incoming) : undefined
  if (cookie !== undefined) return undefined
  const token = tokenOf(authorization)
  return token ? verifyToken(verifiers, token, incoming) : undefined
}

const longestToken = 8192

/**
 * Returns the credential of an Authorization header; both schemes are accepted. Two such headers arrive joined by a
 * comma and a space, which no token contains.
 */
export function tokenOf(authorization: string | undefined): string | undefined {
  const space = authorization?.indexOf(' ') ?? -1
  if (authorization === undefined || space < 0) return undefined
  const scheme = authorization.slice(0, space).toLowerCase()
  const token = authorization.slice(space + 1)
  const fits = token.length > 0 && token.length <= longestToken && !token.includes(' ')
  return fits && (scheme === 'bearer' || scheme === 'dpop') ? token : undefined
}

export function verifyToken(
  verifiers: Verifiers,
  token: string,
  incoming: IncomingRequest,
): CredentialVerdict | Promise<CredentialVerdict> {
  if (verifiers.service.is(token)) return verifiers.service.verify(token, incoming)
  if (!token.startsWith('hf')) return verifiers.device(token, incoming)
  const presented = verifiers.readToken(token)
  if (!presented || presented.prefix === 'hfs' || presented.prefix === 'hfl' || presented.prefix === 'hfr')
    return undefined
  return verifiers[kindOfPrefix[presented.prefix]](presented, incoming)
}

/**
 * An unexpected error during verification counts as an invalid credential. Errors meant for the caller (rate limit,
 * unavailable database) are thrown.
 */
export function judgedSafely(
  { log, refuse }: { log: Pick<Log, 'error'>; refuse: Pick<Refuse, 'device'> },
  judge: () => CredentialVerdict | Promise<CredentialVerdict>,
  anonymous: () => AnonymousCaller,
): CredentialVerdict | Promise<CredentialVerdict> {
  const onFailure = (e: unknown): CredentialVerdict | Promise<CredentialVerdict> => {
    if (e instanceof DeviceThrottled) return refuse.device(e, anonymous())
    if (toAppError(e).code !== 'internal_error' || toAppError(e).retryAfterSeconds !== undefined) throw e
    log.error({ err: e }, 'verification of a credential failed')
    return undefined
  }
  try {
    const verdict = judge()
    return verdict instanceof Promise ? verdict.catch(onFailure) : verdict
  } catch (e) {
    return onFailure(e)
  }
}

function verifyCookie(
  verifiers: Verifiers,
  cookie: string,
  incoming: IncomingRequest,
): CredentialVerdict | Promise<CredentialVerdict> {
  const presented = verifiers.readToken(cookie)
  return presented?.prefix === 'hfs' ? verifiers.session(presented, incoming) : undefined
}

/** Returns the value of the session cookie; undefined if there is none, empty if there are two. */
function sessionCookie(header: string | undefined): string | undefined {
  if (!header?.includes('holdfast_session')) return undefined
  const values: string[] = []
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (sessionCookies.includes(pair.slice(0, equals).trim())) values.push(pair.slice(equals + 1))
  }
  return values.length > 1 ? '' : values[0]
}
