import { CryptoError, decodeCompact } from '@holdfast/crypto'
import type { errors, JWTPayload, JWTVerifyOptions, JWTVerifyResult } from 'jose'
import { FederationError, type ProvenIdentity } from '../proven-identity.ts'
import { subjectClaimOf } from './claims.ts'
import type { ProviderKeys } from './keys.ts'
import { loadJose } from './library.ts'
import type { OidcProvider } from './presets.ts'

export const skewSeconds = 60
const maxTokenLength = 256 * 1024

type Issuer = Pick<OidcProvider, 'kind' | 'issuer'>
type Common = {
  /** Client ids that the token may be issued to. */
  audiences: readonly string[]
  /** Maximum age of the token, by `iat`. */
  issuedWithinSeconds: number
}
type Expected = Common & {
  /** Null if no nonce was requested. The token must then have none: a token with a nonce belongs to another sign-in. */
  nonce: string | null
  /** Maximum age of the person's sign-in, if one was requested. */
  maxAgeSeconds?: number | undefined
}
export type TokenSource = {
  /** Accepted algorithms that the provider announces. The token's header only selects one of them. */
  algorithms: readonly string[]
  keys: () => Promise<ProviderKeys>
  /** Reads the keys again. Undefined if they were read again less than a minute ago. */
  renewedKeys: () => Promise<ProviderKeys | undefined>
  now: () => Date
}

/**
 * Verifies an ID token (OpenID Connect Core 3.1.3.7). ID tokens of all sources are verified here. Throws
 * FederationError.
 */
export async function verifyIdToken(
  provider: Issuer,
  token: string,
  expected: Expected,
  source: TokenSource,
): Promise<ProvenIdentity> {
  const payload = await judgeToken(provider, token, { ...expected, needs: ['sub', 'exp'], type: /^jwt$/i }, source)
  checkTimes(payload, expected, source.now())
  if (expected.nonce === '' || payload.nonce !== (expected.nonce ?? undefined)) throw refused('nonce')
  return { issuer: provider.issuer, subject: subjectClaimOf(provider, payload), claims: payload }
}

/**
 * Verifies the requirements for every token of a provider: signature by a current key, issuer, audience, age and type.
 */
export async function judgeToken(
  provider: Issuer,
  token: string,
  { audiences, issuedWithinSeconds, needs, type }: Common & { needs: readonly string[]; type: RegExp },
  source: TokenSource,
): Promise<JWTPayload> {
  if (token.length > maxTokenLength) throw new FederationError('token', 'The token is too long.')
  const { payload, protectedHeader } = await verifySignature(token, source, {
    algorithms: [...source.algorithms],
    issuer: provider.issuer,
    audience: [...audiences],
    requiredClaims: ['iss', 'aud', 'iat', ...needs],
    maxTokenAge: issuedWithinSeconds,
    clockTolerance: skewSeconds,
    currentDate: source.now(),
  })
  const { typ } = protectedHeader
  if (typ !== undefined && !type.test(typ.replace(/^application\//i, ''))) throw refused('token')
  checkParty(payload, audiences)
  checkLife(payload)
  return payload
}

/** The library also accepts padding, line breaks and other alphabets. A compact JWS (RFC 7515 §2) has none of them. */
function requireCompact(token: string): void {
  try {
    decodeCompact(token)
  } catch (e) {
    throw e instanceof CryptoError ? refused('token') : e
  }
}

/** Verifies the form and the signature, with the provider's current keys. Throws FederationError. */
export async function verifySignature(
  token: string,
  source: TokenSource,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  const { errors, jwtVerify } = await loadJose()
  const verify = async () => {
    const keys = await source.keys()
    try {
      return await jwtVerify(token, keys.find, options)
    } catch (e) {
      // The provider may have replaced its keys, also under the same key id.
      const mayBeNew = e instanceof errors.JWKSNoMatchingKey || e instanceof errors.JWSSignatureVerificationFailed
      const renewed = mayBeNew ? await source.renewedKeys() : undefined
      if (!renewed) throw e
      return await jwtVerify(token, renewed.find, options)
    }
  }
  try {
    const verified = await verify()
    requireCompact(token)
    return verified
  } catch (e) {
    throw e instanceof FederationError ? e : refused(reasonOf(e, errors))
  }
}

/**
 * Longest lifetime of a token. No known provider exceeds it. A token with a later end, or one before its `iat`, is
 * faulty.
 */
const longestLifeSeconds = 30 * 86_400
function checkLife({ iat = 0, exp }: JWTPayload): void {
  if (exp !== undefined && !(exp > iat && exp <= iat + longestLifeSeconds)) throw refused('time')
}

function checkTimes({ exp, auth_time: signedIn }: JWTPayload, { maxAgeSeconds }: Expected, now: Date): void {
  if (!Number.isFinite(exp)) throw refused('time')
  if (maxAgeSeconds === undefined) return
  if (typeof signedIn !== 'number' || !Number.isFinite(signedIn)) throw refused('time')
  const age = now.getTime() / 1000 - signedIn
  if (age > maxAgeSeconds + skewSeconds || age < -skewSeconds) throw refused('time')
}

/**
 * Checks the authorized party (`azp`). It is required if the token is for several audiences, and must be one of our
 * clients if it is present.
 */
function checkParty({ aud, azp }: JWTPayload, audiences: readonly string[]): void {
  const isForSeveral = Array.isArray(aud) && aud.length !== 1
  if (azp === undefined && !isForSeveral) return
  if (typeof azp !== 'string' || !audiences.includes(azp)) throw refused('audience')
}

const sentences = {
  token: 'The answer of the provider is not a valid token.',
  algorithm:
    'The signature algorithm of the token is not in the metadata of the provider, or is not accepted by this server.',
  keys: 'The provider does not publish the key with the kid of the token, or publishes several keys with it.',
  signature: 'The signature of the token is invalid.',
  time: 'The token or its sign-in is too old, expired, or dated in the future. Check the clocks of the provider and of this server.',
  issuer: 'The token names another issuer.',
  audience: 'The token was issued to another client.',
  nonce: 'The nonce of the token does not belong to this sign-in.',
  events: 'The token is not a logout token: it lacks the logout event.',
  subject: 'The token names no user or session.',
} as const
export const refused = (reason: keyof typeof sentences) => new FederationError(reason, sentences[reason])

const ofClaims: Readonly<Record<string, keyof typeof sentences>> = {
  exp: 'time',
  nbf: 'time',
  iat: 'time',
  iss: 'issuer',
  aud: 'audience',
  sub: 'subject',
}
function reasonOf(e: unknown, known: typeof errors): keyof typeof sentences {
  if (e instanceof known.JWTExpired) return 'time'
  if (e instanceof known.JWTClaimValidationFailed) return ofClaims[e.claim] ?? 'token'
  if (e instanceof known.JOSEAlgNotAllowed) return 'algorithm'
  if (e instanceof known.JWSSignatureVerificationFailed) return 'signature'
  const isOfToken = [known.JWSInvalid, known.JWTInvalid, known.JOSENotSupported].some((kind) => e instanceof kind)
  // Remaining errors come from choosing or reading a key: none, several, too short, or not on its curve.
  return isOfToken ? 'token' : 'keys'
}
