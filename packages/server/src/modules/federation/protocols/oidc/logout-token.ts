import { sidOf, subjectClaimOf } from './claims.ts'
import { judgeToken, refused, type TokenSource } from './id-token.ts'
import type { OidcProvider } from './presets.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'
const longestId = 255

/**
 * Scope of a logout at the provider: all sessions of an account, one session of an account, or one session of an
 * account that is not named.
 */
export type SignedOut = { subject: string | null; sid: string | null; issuedAt: Date; jti: string }

/**
 * Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6), with the same checks as for ID tokens. Throws
 * FederationError.
 */
export async function verifyLogoutToken(
  provider: Pick<OidcProvider, 'kind' | 'issuer'>,
  token: string,
  expected: { audiences: readonly string[]; issuedWithinSeconds: number },
  source: TokenSource,
): Promise<SignedOut> {
  const requirements = { ...expected, needs: ['jti', 'events'], type: /^(?:logout\+)?jwt$/i }
  const payload = await judgeToken(provider, token, requirements, source)
  const { exp, iat = 0, jti, events } = payload
  if (exp !== undefined && !Number.isFinite(exp)) throw refused('time')
  // A logout token must have no nonce, so that an ID token is never accepted as one.
  if (Object.hasOwn(payload, 'nonce')) throw refused('nonce')
  if (!isRecord(events) || !Object.hasOwn(events, event) || !isRecord(events[event])) throw refused('events')
  if (typeof jti !== 'string' || jti === '' || jti.length > longestId) throw refused('token')
  const sid = sidOf(payload)
  // For Entra ID the subject is `oid`; `sub` alone does not identify a person.
  const name = provider.kind === 'entra_id' ? 'oid' : 'sub'
  const subject = Object.hasOwn(payload, name) || sid === null ? subjectClaimOf(provider, payload) : null
  return { subject, sid, issuedAt: new Date(iat * 1000), jti }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
