import { createPublicKey, hash, type KeyObject } from 'node:crypto'
import { decodeBase64url, encodeBase64url } from './base64url.ts'
import { isEd25519Key } from './curve-points.ts'
import { refuse } from './errors.ts'
import { isObject } from './strict-json.ts'

/** JWS algorithm names, fully specified (RFC 9864). */
export type SigningAlg = 'ES256' | 'ES384' | 'Ed25519'

type EcPublicJwk = {
  kty: 'EC'
  crv: 'P-256' | 'P-384'
  x: string
  y: string
  kid?: string
  alg?: string
  use?: string
}
type OkpPublicJwk = { kty: 'OKP'; crv: 'Ed25519'; x: string; kid?: string; alg?: string; use?: string }
/** The supported public keys (RFC 7517, RFC 7518 §6.2, RFC 8037). */
export type PublicJwk = EcPublicJwk | OkpPublicJwk
/** A private key as JWK. Store it sealed, never log it. */
export type PrivateJwk = PublicJwk & { d: string }

const hex = (digits: string) => Buffer.from(digits, 'hex')

/** `spki`: the bytes of a SubjectPublicKeyInfo (RFC 5480 §2, RFC 8410 §4) before the coordinates. */
const curves = {
  'P-256': { kty: 'EC', alg: 'ES256', bytes: 32, spki: hex('3059301306072a8648ce3d020106082a8648ce3d03010703420004') },
  'P-384': { kty: 'EC', alg: 'ES384', bytes: 48, spki: hex('3076301006072a8648ce3d020106052b8104002203620004') },
  Ed25519: { kty: 'OKP', alg: 'Ed25519', bytes: 32, spki: hex('302a300506032b6570032100') },
} as const
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** Returns the algorithm of the key's curve. */
export function algOf(jwk: PublicJwk): SigningAlg {
  return curves[jwk.crv].alg
}

/**
 * Checks an untrusted JWK and returns only the required members. Throws `malformed`: unknown key type or curve, a
 * private member, coordinates of the wrong length, an `alg` or `use` that contradicts the curve.
 */
export function parsePublicJwk(value: unknown): PublicJwk {
  if (!isObject(value)) refuse('malformed', 'the JWK is not an object')
  if (privateMembers.some((name) => name in value)) refuse('malformed', 'the JWK has private members')
  const { kty, crv, x, y, alg, use } = value
  const curve = crv === 'P-256' || crv === 'P-384' || crv === 'Ed25519' ? curves[crv] : undefined
  if (!curve || kty !== curve.kty) refuse('malformed', 'the JWK has an unknown key type or curve')
  if (alg !== undefined && alg !== curve.alg) refuse('malformed', 'the alg of the JWK does not match its curve')
  if (use !== undefined && use !== 'sig') refuse('malformed', 'the JWK is not for signatures')
  const coordinate = (text: unknown): string => {
    if (typeof text !== 'string') refuse('malformed', 'the JWK lacks a coordinate')
    if (decodeBase64url(text, 'a JWK coordinate').length !== curve.bytes)
      refuse('malformed', 'a JWK coordinate has the wrong length')
    return text
  }
  if (crv === 'Ed25519') {
    if (!isEd25519Key(decodeBase64url(coordinate(x), 'a JWK coordinate')))
      refuse('malformed', 'the JWK is a point of small order, or not in canonical encoding')
    return { kty: 'OKP', crv, x: coordinate(x) }
  }
  if (crv === 'P-256' || crv === 'P-384') return { kty: 'EC', crv, x: coordinate(x), y: coordinate(y) }
  return refuse('malformed', 'the JWK has an unknown curve')
}

/**
 * Imports a public key from an untrusted JWK. It is checked as in `parsePublicJwk`, and must be on its curve. Throws
 * `malformed`. The platform reads PEM twice as fast as a JWK.
 */
export function importPublic(jwk: unknown): KeyObject {
  const pem = publicPem(parsePublicJwk(jwk))
  return onItsCurve(() => createPublicKey(pem))
}

/** Returns the DER of the SubjectPublicKeyInfo (RFC 5280 §4.1.2.7). */
export function publicSpki(jwk: PublicJwk): Buffer {
  const y = jwk.kty === 'EC' ? Buffer.from(jwk.y, 'base64url') : Buffer.alloc(0)
  return Buffer.concat([curves[jwk.crv].spki, Buffer.from(jwk.x, 'base64url'), y])
}

/** Returns the SubjectPublicKeyInfo as text (RFC 7468 §13). */
export const publicPem = (jwk: PublicJwk): string => spkiPem(publicSpki(jwk))
export const spkiPem = (spki: Buffer): string =>
  `-----BEGIN PUBLIC KEY-----\n${spki.toString('base64')}\n-----END PUBLIC KEY-----`

/**
 * Reads the key of a SubjectPublicKeyInfo. Throws `bad_algorithm` unless it is a supported named curve with an
 * uncompressed point. A point that is not on the curve is detected only when the key is used.
 */
export function publicJwkOf(spki: Buffer): PublicJwk {
  const crv = (['P-256', 'P-384', 'Ed25519'] as const).find((name) => {
    const { kty, bytes, spki: start } = curves[name]
    return (
      spki.length === start.length + (kty === 'EC' ? 2 * bytes : bytes) && start.equals(spki.subarray(0, start.length))
    )
  })
  if (!crv) return refuse('bad_algorithm', 'the key is not a P-256, P-384 or Ed25519 key')
  const { spki: start, bytes } = curves[crv]
  const coordinate = (n: number) =>
    encodeBase64url(spki.subarray(start.length + n * bytes, start.length + (n + 1) * bytes))
  if (crv === 'Ed25519' && !isEd25519Key(spki.subarray(start.length)))
    refuse('malformed', 'the key is a point of small order, or not in canonical encoding')
  return crv === 'Ed25519'
    ? { kty: 'OKP', crv, x: coordinate(0) }
    : { kty: 'EC', crv, x: coordinate(0), y: coordinate(1) }
}

/** Throws `malformed` if the platform rejects the coordinates. */
export function onItsCurve<T>(use: () => T): T {
  try {
    return use()
  } catch (cause) {
    return refuse('malformed', 'the JWK is not a point on its curve', cause)
  }
}

/** RFC 7638 thumbprint: base64url SHA-256 over the required members in lexicographic order. */
export function thumbprint(jwk: PublicJwk): string {
  const { kty, crv, x } = jwk
  const members = jwk.kty === 'EC' ? { crv, kty, x, y: jwk.y } : { crv, kty, x }
  return hash('sha256', JSON.stringify(members), 'base64url')
}
