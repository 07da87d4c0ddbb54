import type { CredentialKind } from '@holdfast/contract/vocabulary'
import type { PresentedToken as ReadToken } from '@holdfast/crypto'
import type { FastifyRequest } from 'fastify'
import type { Principal, RefusedCredential, Stranger, TenantId } from '../kernel/actor.ts'
import { DeviceThrottled } from '../kernel/app-error.ts'
import type { Log } from '../kernel/log.ts'
import { toAppError } from './error-response.ts'
import type { Refuse } from './refuse.ts'

/** What a verifier may know of a request: nothing of its body. */
export type Incoming = {
  method: string
  /** Path and query as they arrived. */
  url: string
  path: string
  sourceIp: string
  dpop: string | string[] | undefined
  /** No person asked for it (a timer, a stream): a session that is shown is not prolonged. */
  background: boolean
  /** It is judged again while its answer is sent, which is no use of it. */
  isAgain?: true
  /** Parameters by which the deployment-wide gateway secret names whom it speaks for. */
  scope: { tenant_id?: string; gateway_id?: string }
}
/** A token that this deployment minted; its MAC vouches for the tenant that it names. */
export type PresentedToken = ReadToken<TenantId>
/** Whose credential it is; what was refused of those issued here; undefined for what never was. */
export type Verdict = Principal | RefusedCredential | undefined
type Verify<Presented> = (presented: Presented, request: Incoming) => Verdict | Promise<Verdict>
/** Each verifies one kind of credential. */
export type Verifiers = { [K in Exclude<CredentialKind, 'device'>]: Verify<PresentedToken> } & {
  device: Verify<string>
  /** Undefined for a text that this deployment never minted: no other verifier sees it. */
  readToken: (text: string) => PresentedToken | undefined
  /** The deployment-wide gateway secret, which says nothing of itself by its shape. */
  service: { is: (text: string) => boolean; verify: Verify<string> }
}

const kindOfPrefix = { hfk: 'api_key', hfg: 'gateway', hfe: 'enrollment_token', hfc: 'enrollment_challenge' } as const
const sessionCookies: readonly string[] = ['__Host-holdfast_session', 'holdfast_session']

/**
 * Exactly one verifier is chosen, from the shape of the credential; there is no second try. A cookie together with an
 * Authorization header is no credential.
 */
export function authenticate(
  verifiers: Verifiers,
  request: FastifyRequest,
  incoming: Incoming,
): Verdict | Promise<Verdict> {
  const authorization = request.headers.authorization
  const cookie = sessionCookie(request.headers.cookie)
  if (authorization === undefined) return cookie ? verifyCookie(verifiers, cookie, incoming) : undefined
  if (cookie !== undefined) return undefined
  const token = tokenOf(authorization)
  return token ? verifyToken(verifiers, token, incoming) : undefined
}

const longestToken = 8192

/**
 * The credential of an Authorization header; either scheme word is taken. Two such headers arrive joined by a comma and
 * a space, which is in no token.
 */
export function tokenOf(authorization: string | undefined): string | undefined {
  const space = authorization?.indexOf(' ') ?? -1
  if (authorization === undefined || space < 0) return undefined
  const scheme = authorization.slice(0, space).toLowerCase()
  const token = authorization.slice(space + 1)
  const fits = token.length > 0 && token.length <= longestToken && !token.includes(' ')
  return fits && (scheme === 'bearer' || scheme === 'dpop') ? token : undefined
}

export function verifyToken(verifiers: Verifiers, token: string, incoming: Incoming): Verdict | Promise<Verdict> {
  if (verifiers.service.is(token)) return verifiers.service.verify(token, incoming)
  if (!token.startsWith('hf')) return verifiers.device(token, incoming)
  const presented = verifiers.readToken(token)
  if (!presented || presented.prefix === 'hfs' || presented.prefix === 'hfl' || presented.prefix === 'hfr')
    return undefined
  return verifiers[kindOfPrefix[presented.prefix]](presented, incoming)
}

/**
 * Whatever is thrown while a credential is judged, the credential was not found good. What the caller is told all the
 * same (it asks too often; the database is away) passes.
 */
export function judgedSafely(
  { log, refuse }: { log: Pick<Log, 'error'>; refuse: Pick<Refuse, 'device'> },
  judge: () => Verdict | Promise<Verdict>,
  stranger: () => Stranger,
): Verdict | Promise<Verdict> {
  const settle = (e: unknown): Verdict | Promise<Verdict> => {
    if (e instanceof DeviceThrottled) return refuse.device(e, stranger())
    if (toAppError(e).code !== 'internal_error' || toAppError(e).retryAfterSeconds !== undefined) throw e
    log.error({ err: e }, 'a credential could not be judged')
    return undefined
  }
  try {
    const verdict = judge()
    return verdict instanceof Promise ? verdict.catch(settle) : verdict
  } catch (e) {
    return settle(e)
  }
}

function verifyCookie(verifiers: Verifiers, cookie: string, incoming: Incoming): Verdict | Promise<Verdict> {
  const presented = verifiers.readToken(cookie)
  return presented?.prefix === 'hfs' ? verifiers.session(presented, incoming) : undefined
}

/**
 * The session's cookie, all that stands behind its name; undefined when there is none, empty when it is given twice.
 */
function sessionCookie(header: string | undefined): string | undefined {
  if (!header?.includes('holdfast_session')) return undefined
  const values: string[] = []
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (sessionCookies.includes(pair.slice(0, equals).trim())) values.push(pair.slice(equals + 1))
  }
  return values.length > 1 ? '' : values[0]
}
