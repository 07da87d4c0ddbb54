import { sidOf, subjectOf } from './claims.ts'
import { judgeToken, refused, type TokenSource } from './id-token.ts'
import type { OidcProvider } from './presets.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'
const longestId = 255

/** Who has signed out at the provider: an account, one session of it, or a session of whoever's it is. */
export type SignedOut = { subject: string | null; sid: string | null; issuedAt: Date; jti: string }

/** A logout token (OpenID Connect Back-Channel Logout 1.0, 2.6), judged as ID tokens are. Throws FederationError. */
export async function verifyLogoutToken(
  provider: Pick<OidcProvider, 'kind' | 'issuer'>,
  token: string,
  expected: { audiences: readonly string[]; issuedWithinSeconds: number },
  source: TokenSource,
): Promise<SignedOut> {
  const wanted = { ...expected, needs: ['jti', 'events'], type: /^(?:logout\+)?jwt$/i }
  const payload = await judgeToken(provider, token, wanted, source)
  const { exp, iat = 0, jti, events } = payload
  if (exp !== undefined && !Number.isFinite(exp)) throw refused('time')
  // An ID token has one, where this says that somebody signs in.
  if (Object.hasOwn(payload, 'nonce')) throw refused('nonce')
  if (!isRecord(events) || !Object.hasOwn(events, event) || !isRecord(events[event])) throw refused('events')
  if (typeof jti !== 'string' || jti === '' || jti.length > longestId) throw refused('token')
  const sid = sidOf(payload)
  // Entra ID names nobody by `sub` alone.
  const name = provider.kind === 'entra_id' ? 'oid' : 'sub'
  const subject = Object.hasOwn(payload, name) || sid === null ? subjectOf(provider, payload) : null
  return { subject, sid, issuedAt: new Date(iat * 1000), jti }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
