import { CryptoError, decodeCompact } from '@holdfast/crypto'
import type { errors, JWTPayload, JWTVerifyOptions, JWTVerifyResult } from 'jose'
import { FederationError, type Proven } from '../proven.ts'
import { subjectOf } from './claims.ts'
import type { Keys } from './keys.ts'
import { loadJose } from './library.ts'
import type { OidcProvider } from './presets.ts'

export const skewSeconds = 60
const maxTokenLength = 256 * 1024

type Issuer = Pick<OidcProvider, 'kind' | 'issuer'>
type Common = {
  /** Clients of ours that the token may be for. */
  audiences: readonly string[]
  /** How long ago the token may have been issued. */
  issuedWithinSeconds: number
}
type Expected = Common & {
  /** Null where none was asked for: then none may stand there, since such a token belongs to another sign-in. */
  nonce: string | null
  /** How long ago the person may have signed in, where that was asked for. */
  maxAgeSeconds?: number | undefined
}
export type TokenSource = {
  /** What the provider signs with and we take. The token's header only says which of them. */
  algorithms: readonly string[]
  keys: () => Promise<Keys>
  /** The keys read anew, or undefined where that was done a moment ago. */
  renewedKeys: () => Promise<Keys | undefined>
  now: () => Date
}

/** The one judge of ID tokens (OpenID Connect Core 3.1.3.7), wherever they come from. Throws FederationError. */
export async function verifyIdToken(
  provider: Issuer,
  token: string,
  expected: Expected,
  source: TokenSource,
): Promise<Proven> {
  const payload = await judgeToken(provider, token, { ...expected, needs: ['sub', 'exp'], type: /^jwt$/i }, source)
  checkTimes(payload, expected, source.now())
  if (expected.nonce === '' || payload.nonce !== (expected.nonce ?? undefined)) throw refused('nonce')
  return { issuer: provider.issuer, subject: subjectOf(provider, payload), claims: payload }
}

/** What every token of a provider must be: signed by it now, made for us, a moment ago, and what it says it is. */
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

/** The library also reads padding, line breaks and other alphabets, which are none of a compact JWS (RFC 7515 §2). */
function requireCompact(token: string): void {
  try {
    decodeCompact(token)
  } catch (e) {
    throw e instanceof CryptoError ? refused('token') : e
  }
}

/** Verifies the form and the signature, with the keys that the provider has now. Throws FederationError. */
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
      // The provider may have changed its keys, also under a name that it had before.
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

/** No provider that is known lets tokens live longer; one that ends later, or before it was issued, is a mistake. */
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

/** Whom the token was issued to, which must be said where it is for several, and must be one of us where it is said. */
function checkParty({ aud, azp }: JWTPayload, audiences: readonly string[]): void {
  const isForSeveral = Array.isArray(aud) && aud.length !== 1
  if (azp === undefined && !isForSeveral) return
  if (typeof azp !== 'string' || !audiences.includes(azp)) throw refused('audience')
}

const sentences = {
  token: 'What came from the provider is no such token.',
  algorithm: 'The token is signed in a way that the provider does not announce, or that is not taken.',
  keys: 'The provider does not publish the key that the token names, or publishes several of that name.',
  signature: 'The signature of the token is wrong.',
  time: 'The token, or the sign-in that it tells of, is too old, has ended, or lies in the future.',
  issuer: 'The token names another issuer.',
  audience: 'The token was made for another client.',
  nonce: 'The token does not belong to this sign-in, or to any.',
  events: 'The token does not say that somebody has signed out.',
  subject: 'The token does not say whom it is about.',
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
  // What is left is thrown where a key is chosen or read: none, several, too short, no point of its curve.
  return isOfToken ? 'token' : 'keys'
}
