import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { encodeBase64url } from './base64url.ts'
import { CryptoError } from './errors.ts'
import { parsePublicJwk, thumbprint } from './jwk.ts'
import { decodeJws, encodePayload } from './jws.ts'
import { signBytes, type VerificationKey, verifyBytes } from './signature.ts'
import { isObject, parseStrictObject } from './strict-json.ts'

const limitNames = ['tenants', 'users', 'devices', 'gateways', 'sessions', 'api_keys', 'bandwidth_gb_month'] as const

/**
 * Claims of a license (names of RFC 7519; `sub` is the customer). Times are in seconds, `grace_days` follow `exp`, and
 * a limit of null is unlimited. With `deployment_id` it is valid for that deployment only.
 */
export type LicenseClaims = {
  iss: string
  sub: string
  jti: string
  iat: number
  nbf: number
  exp: number
  grace_days: number
  edition: string
  features: string[]
  limits: Partial<Record<(typeof limitNames)[number], number | null>>
  deployment_id?: string
}

/** A key that verifies licenses; `kid` is its RFC 7638 thumbprint. */
export type LicenseKey = VerificationKey & { kid: string }

/** `malformed` also covers keys. `wrong_type`: another `typ`, or another algorithm than Ed25519. */
export type LicenseErrorCode = 'malformed' | 'wrong_type' | 'unknown_key' | 'bad_signature' | 'bad_claims'

/** The message is for people. Of the file's content it contains only the name of an unknown claim. */
export class LicenseError extends Error {
  override readonly name = 'LicenseError'
  readonly code: LicenseErrorCode

  constructor(code: LicenseErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

function refuse(code: LicenseErrorCode, message: string): never {
  throw new LicenseError(code, message)
}

type Rule = { holds: (value: unknown) => boolean; says: string }
const isWhole = (value: unknown, most: number) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most
const text = (most: number): Rule => ({
  holds: (value) => typeof value === 'string' && new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${most}}$`, 'u').test(value),
  says: `a string of 1 to ${most} characters, without control characters`,
})
// RFC 3339 ends with the year 9999. Milliseconds given instead of seconds are beyond it.
const time: Rule = {
  holds: (value) => isWhole(value, 253_402_300_799),
  says: 'whole seconds since 1970, up to the year 9999',
}
const limit: Rule = {
  holds: (value) => value === null || isWhole(value, Number.MAX_SAFE_INTEGER),
  says: 'a whole number from 0 to 2^53-1, or null for unlimited',
}
const limitRules: Record<string, Rule> = Object.fromEntries(limitNames.map((name) => [name, limit]))
const feature = text(64)
const claimRules: Record<keyof LicenseClaims, Rule> = {
  iss: text(256),
  sub: text(256),
  jti: text(128),
  iat: time,
  nbf: time,
  exp: time,
  grace_days: { holds: (value) => isWhole(value, 90), says: 'a whole number from 0 to 90' },
  edition: text(64),
  features: {
    holds: (value) =>
      Array.isArray(value) && value.length <= 64 && new Set(value).size === value.length && value.every(feature.holds),
    says: `a list of at most 64 different strings, each ${feature.says}`,
  },
  limits: { holds: isObject, says: 'an object' },
  deployment_id: {
    holds: (value) => typeof value === 'string' && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(value),
    says: 'a UUID in lower case',
  },
}

const refuseClaims = (what: string): never => refuse('bad_claims', `${what}; correct this and issue the license again`)

function checkMembers(members: Record<string, unknown>, rules: Record<string, Rule>, noun: string): void {
  for (const [name, value] of Object.entries(members)) {
    if (!Object.hasOwn(rules, name)) refuseClaims(`unknown ${noun} ${JSON.stringify(name.slice(0, 64))}`)
    if (!rules[name]?.holds(value)) refuseClaims(`the ${noun} ${name} must be ${rules[name]?.says}`)
  }
}

function parseClaims(payload: Buffer): LicenseClaims {
  const members = readable(() => parseStrictObject(payload, 'the license'))
  checkMembers(members, claimRules, 'claim')
  const missing = Object.keys(claimRules).find((name) => name !== 'deployment_id' && !(name in members))
  if (missing) refuseClaims(`the claim ${missing} is missing`)
  const claims = members as LicenseClaims
  checkMembers(claims.limits, limitRules, 'limit')
  if (claims.nbf >= claims.exp) refuseClaims('the claim nbf must be earlier than exp')
  return claims
}

/** Turns errors of the JWS and JSON readers into license errors. */
function readable<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error
    return refuse('malformed', `the license can't be read: ${error.message}; ${copyAgain}`)
  }
}

const licenseType = 'license+jwt'
const maxBytes = 64 * 1024
const copyAgain = 'copy the complete, unchanged file again'

/** Parses the file. It checks form and header, but neither signature nor claims. */
function open(file: string) {
  if (Buffer.byteLength(file) > maxBytes) refuse('malformed', `the license is larger than 64 KiB; ${copyAgain}`)
  const compact = file.trim()
  if (compact === '') refuse('malformed', `the license is empty; ${copyAgain}`)
  const decoded = readable(() => decodeJws(compact))
  const { typ, alg, kid, ...others } = decoded.header
  if (typ !== licenseType)
    refuse('wrong_type', 'the file is signed, but it is not a license; set the path of a license file')
  if (alg !== 'Ed25519')
    refuse('wrong_type', 'the license is not signed with Ed25519; ask its issuer for a license that is')
  if (typeof kid !== 'string' || !/^[\w-]{43}$/.test(kid))
    refuse('malformed', 'the kid of the license is not a key thumbprint; ask its issuer for a license with such a kid')
  if (Object.keys(others).length > 0)
    refuse(
      'malformed',
      'the header of the license has members other than typ, alg and kid; ask its issuer for a license without them',
    )
  return { ...decoded, kid }
}

/** Reads the license without verifying its signature. Throws LicenseError. */
export function peekLicense(file: string): { kid: string; claims: LicenseClaims } {
  const { kid, payload } = open(file)
  return { kid, claims: parseClaims(payload) }
}

/**
 * Verifies a license file: a compact JWS (RFC 7515) with Ed25519 (RFC 8037, RFC 9864), surrounding white space ignored.
 * The claims are parsed only after the signature is verified. The caller must check the period and the deployment.
 * Throws LicenseError.
 */
export function verifyLicense(file: string, keys: readonly LicenseKey[]): LicenseClaims {
  const { kid, payload, signingInput, signature } = open(file)
  const key = keys.find((one) => one.kid === kid)
  if (!key) {
    const known = keys.map((one) => one.kid).join(', ') || 'none'
    refuse(
      'unknown_key',
      `the license is signed with an unknown key; add the public key of its issuer (known keys: ${known})`,
    )
  }
  if (!verifyBytes(key, signingInput, signature))
    refuse(
      'bad_signature',
      `the license was changed after it was signed; ${copyAgain}, or ask its issuer for a new one`,
    )
  return parseClaims(payload)
}

/** Signs claims with an Ed25519 private key (PKCS#8 PEM, not encrypted). Throws LicenseError. */
export function signLicense(claims: LicenseClaims, privateKey: string): string {
  const key = ed25519Key(() => createPrivateKey(privateKey), 'the private key')
  const payload = encodePayload(parseClaims(Buffer.from(JSON.stringify(claims))))
  const header = encodePayload({ typ: licenseType, alg: 'Ed25519', kid: kidOf(createPublicKey(key)) })
  const input = `${header}.${payload}`
  return `${input}.${encodeBase64url(signBytes('Ed25519', key, Buffer.from(input)))}`
}

/** Reads the Ed25519 keys of a text with `PUBLIC KEY` blocks (PEM, RFC 8410), at least one. Throws LicenseError. */
export function readLicenseKeys(pem: string): LicenseKey[] {
  if (pem.includes('PRIVATE KEY-----'))
    refuse(
      'malformed',
      'the file of public keys contains a private key; remove it, because only the license issuer may have it',
    )
  const blocks = pem.match(/-----BEGIN PUBLIC KEY-----\s[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----/g) ?? []
  if (blocks.length === 0 || blocks.length !== pem.split('-----BEGIN').length - 1)
    refuse('malformed', 'the file must contain one or more complete PEM blocks named PUBLIC KEY, and no other blocks')
  return blocks.map((block) => {
    const publicKey = ed25519Key(() => createPublicKey(block), 'each public key')
    return { kid: kidOf(publicKey), publicKey, alg: 'Ed25519' }
  })
}

/** Returns a new pair as PEM texts (PKCS#8, SubjectPublicKeyInfo). The holder of the private key can issue licenses. */
export function generateLicenseKey(): { privateKey: string; publicKey: string; kid: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return {
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    publicKey: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    kid: kidOf(publicKey),
  }
}

const kidOf = (publicKey: KeyObject): string => thumbprint(parsePublicJwk(publicKey.export({ format: 'jwk' })))

function ed25519Key(read: () => KeyObject, what: string): KeyObject {
  try {
    const key = read()
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // The platform's message does not help, so the error below replaces it.
  }
  return refuse(
    'malformed',
    `${what} must be an unencrypted Ed25519 key in PEM; holdfast license keygen creates a key pair`,
  )
}
