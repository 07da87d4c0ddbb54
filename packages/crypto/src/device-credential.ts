import { decodeBase64url } from './base64url.ts'
import { refuse } from './errors.ts'
import { type Instant, numericDate } from './instant.ts'
import { decodeHeader, requireKid, signJws, splitCompact, verifyJws } from './jws.ts'
import type { VerificationKey } from './signature.ts'
import type { Signer } from './signer.ts'
import { isObject, parseStrictObject } from './strict-json.ts'

export const deviceCredentialType = 'device+jwt'

const enrollmentMethods = ['token', 'oidc', 'saml', 'device_code'] as const
type EnrollmentMethod = (typeof enrollmentMethods)[number]

/**
 * Claims of a device credential (RFC 7519; `cnf` RFC 7800, RFC 9449 §6.1, RFC 8705 §3.1). Times are in seconds. `sub`
 * is the device, `tid` its tenant, `uid` its user if it has one, `gen` the generation that renewal increments, `enr`
 * the enrollment method.
 */
export type DeviceCredentialClaims = {
  iss: string
  aud: string[]
  sub: string
  jti: string
  iat: number
  nbf: number
  exp: number
  cnf?: { jkt: string; 'x5t#S256'?: string }
  tid: string
  uid?: string
  gen: number
  enr: EnrollmentMethod
  /** Overlay addresses: IPv4, IPv6. */
  addresses?: string[]
}

const maxChars = 8 * 1024
/** The clocks of replicas differ a little. A credential just minted by one must not be too early for another. */
const clockToleranceSeconds = 5

const text = (value: unknown, name: string): string =>
  typeof value === 'string' && value.length > 0 ? value : refuse('malformed', `claim ${name} is not a string`)

const integer = (value: unknown, name: string): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : refuse('malformed', `claim ${name} is not a whole number from 0 up`)

/** An unreadable `cnf` must not count as absent, because that would skip the proof of possession. */
function confirmation(value: unknown): Pick<DeviceCredentialClaims, 'cnf'> {
  if (value === undefined) return {}
  if (!isObject(value)) refuse('malformed', 'claim cnf is not an object')
  const jkt = text(value.jkt, 'cnf.jkt')
  const x5t = value['x5t#S256']
  return { cnf: x5t === undefined ? { jkt } : { jkt, 'x5t#S256': text(x5t, 'cnf.x5t#S256') } }
}

function parseClaims(payload: Buffer): DeviceCredentialClaims {
  const { iss, aud, sub, jti, iat, nbf, exp, cnf, tid, uid, gen, enr, addresses } = parseStrictObject(
    payload,
    'the credential',
  )
  if (addresses !== undefined && !Array.isArray(addresses)) refuse('malformed', 'claim addresses is not a list')
  if (!Array.isArray(aud) || aud.length === 0) refuse('malformed', 'claim aud is not a list')
  return {
    iss: text(iss, 'iss'),
    aud: aud.map((entry: unknown) => text(entry, 'aud')),
    sub: text(sub, 'sub'),
    jti: text(jti, 'jti'),
    iat: integer(iat, 'iat'),
    nbf: integer(nbf, 'nbf'),
    exp: integer(exp, 'exp'),
    ...confirmation(cnf),
    tid: text(tid, 'tid'),
    ...(uid !== undefined && { uid: text(uid, 'uid') }),
    gen: integer(gen, 'gen'),
    enr:
      enrollmentMethods.find((method) => method === enr) ??
      refuse('malformed', 'claim enr is not a known enrollment method'),
    ...(addresses && { addresses: addresses.map((entry: unknown) => text(entry, 'addresses')) }),
  }
}

/**
 * Signs a credential. Throws `wrong_type` for a signer of another purpose, `malformed` for claims that could not be
 * read back.
 */
export async function issueDeviceCredential(signer: Signer, claims: DeviceCredentialClaims): Promise<string> {
  if (signer.purpose !== 'credential') refuse('wrong_type', `a ${signer.purpose} key can't sign device credentials`)
  return signJws(signer, deviceCredentialType, parseClaims(Buffer.from(JSON.stringify(claims))))
}

/**
 * Reads the token without verifying it: enough to find the key and the device. Throws `malformed`, `wrong_type`,
 * `bad_algorithm`.
 */
export function peekDeviceCredential(token: string): { kid: string; claims: DeviceCredentialClaims } {
  if (token.length > maxChars) refuse('malformed', 'the credential is too large')
  const [first, second] = splitCompact(token)
  const kid = requireKid(decodeHeader(token.slice(0, first)), deviceCredentialType)
  return { kid, claims: parseClaims(decodeBase64url(token.slice(first + 1, second), 'the JWS payload')) }
}

/**
 * Verifies signature, issuer, audience (default: the issuer) and validity at `now`. The database decides if the device
 * may still use it, and only `verifyProof` satisfies `cnf`.
 * Throws the codes of `verifyJws`, `wrong_issuer`, `wrong_audience`, `expired`, `not_yet_valid`.
 */
export function verifyDeviceCredential(
  token: string,
  key: VerificationKey,
  { issuer, now, audience = issuer }: { issuer: string; now: Instant; audience?: string },
): DeviceCredentialClaims {
  if (token.length > maxChars) refuse('malformed', 'the credential is too large')
  const claims = parseClaims(verifyJws(token, { typ: deviceCredentialType, key: () => key }).payload)
  const at = numericDate(now)
  if (claims.iss !== issuer) refuse('wrong_issuer', 'the credential is from another issuer')
  if (!claims.aud.includes(audience)) refuse('wrong_audience', 'the credential is for another audience')
  if (at >= claims.exp) refuse('expired', 'the credential has expired')
  if (at + clockToleranceSeconds < claims.nbf) refuse('not_yet_valid', 'the credential is not valid yet')
  return claims
}
