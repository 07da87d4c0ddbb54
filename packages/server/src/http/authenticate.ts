import type { CredentialKind } from '@holdfast/contract/vocabulary'
import { parseToken } from '@holdfast/crypto'
import type { FastifyRequest } from 'fastify'
import type { Principal } from '../kernel/actor.ts'

/** What a verifier may know of a request: nothing of its body. */
export type Incoming = {
  method: string
  /** Path and query as they arrived. */
  url: string
  path: string
  sourceIp: string
  dpop: string | string[] | undefined
  /** Parameters by which the deployment-wide gateway secret names whom it speaks for. */
  scope: { tenant_id?: string; gateway_id?: string }
}
type Verdict = Principal | undefined
/** Each verifies one kind of credential; anything wrong with it is undefined. */
export type Verifiers = {
  [K in CredentialKind]: (secret: string, request: Incoming) => Verdict | Promise<Verdict>
}

export const sessionCookies = ['__Host-holdfast_session', 'holdfast_session'] as const
const kindOfPrefix = { hfk: 'api_key', hfg: 'gateway', hfe: 'enrollment_token' } as const

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
  if (authorization === undefined) return cookie ? verifiers.session(cookie, incoming) : undefined
  if (cookie !== undefined) return undefined
  const token = tokenOf(authorization)
  return token ? verifyToken(verifiers, token, incoming) : undefined
}

const longestToken = 8192

/** The credential of an Authorization header; either scheme word is taken. */
export function tokenOf(authorization: string | undefined): string | undefined {
  const space = authorization?.indexOf(' ') ?? -1
  if (authorization === undefined || space < 0) return undefined
  const scheme = authorization.slice(0, space).toLowerCase()
  const token = authorization.slice(space + 1)
  const fits = token.length > 0 && token.length <= longestToken && !token.includes(' ')
  return fits && (scheme === 'bearer' || scheme === 'dpop') ? token : undefined
}

export function verifyToken(verifiers: Verifiers, token: string, incoming: Incoming): Verdict | Promise<Verdict> {
  if (token.startsWith('hf')) {
    const parsed = parseToken(token)
    return parsed && verifiers[kindOfPrefix[parsed.prefix]](token, incoming)
  }
  return verifiers.device(token, incoming)
}

/** The session's secret; undefined when there is no such cookie, empty when it is given twice. */
function sessionCookie(header: string | undefined): string | undefined {
  if (!header?.includes('holdfast_session')) return undefined
  const values = header
    .split(';')
    .map((pair) => pair.trim().split('='))
    .filter(([name]) => sessionCookies.some((c) => c === name))
    .map(([, value = '']) => value)
  return values.length > 1 ? '' : values[0]
}
