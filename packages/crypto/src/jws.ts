import { decodeBase64url, encodeBase64url } from './base64url.ts'
import { refuse } from './errors.ts'
import { isSigningAlg, type VerificationKey, verifyBytes } from './signature.ts'
import type { Signer } from './signer.ts'
import { parseStrictObject } from './strict-json.ts'

/** Finds the key for a `kid`. Look it up by exact match only: the text is untrusted. */
export type KeyLookup = (kid: string) => VerificationKey | undefined

export type JwsHeader = Record<string, unknown>
export type DecodedJws = { header: JwsHeader; payload: Buffer; signingInput: Buffer; signature: Buffer }

const maxHeaderChars = 8 * 1024
const maxHeaderBytes = (maxHeaderChars * 3) / 4
const maxCompactChars = 128 * 1024 * 1024

/** Returns our protected header, encoded. */
export const protectedHeader = ({ alg, kid }: Signer, typ: string): string =>
  Buffer.from(JSON.stringify({ alg, typ, kid })).toString('base64url')

export const encodePayload = (payload: object | Uint8Array): string =>
  payload instanceof Uint8Array ? encodeBase64url(payload) : Buffer.from(JSON.stringify(payload)).toString('base64url')

/** Signs as JWS compact serialization (RFC 7515 §7.1). Bytes are signed unchanged, an object as its JSON. */
export async function signJws(signer: Signer, typ: string, payload: object | Uint8Array): Promise<string> {
  const input = `${protectedHeader(signer, typ)}.${encodePayload(payload)}`
  return `${input}.${encodeBase64url(await signer.sign(Buffer.from(input, 'latin1')))}`
}

/**
 * Parses a protected header strictly. `crit` and `b64` (RFC 7797) change what is signed. No extension is supported, so
 * both are refused.
 */
export function decodeHeader(segment: string): JwsHeader {
  if (segment.length > maxHeaderChars) refuse('malformed', 'the JWS header is too large')
  return readHeader(decodeBase64url(segment, 'the JWS header'))
}

function readHeader(bytes: Buffer): JwsHeader {
  if (bytes.length > maxHeaderBytes) refuse('malformed', 'the JWS header is too large')
  const header = parseStrictObject(bytes, 'the JWS header')
  if ('crit' in header || 'b64' in header)
    refuse('malformed', 'the JWS header has crit or b64, which are not supported')
  return header
}

/**
 * Returns the positions of the two dots of a compact JWS. Throws `malformed` unless there are exactly three non-empty
 * parts.
 */
export function splitCompact(compact: string): [first: number, second: number] {
  const first = compact.indexOf('.')
  const second = compact.indexOf('.', first + 1)
  if (first < 1 || second <= first + 1 || second === compact.length - 1 || compact.indexOf('.', second + 1) >= 0) {
    refuse('malformed', 'the compact JWS does not have three parts')
  }
  return [first, second]
}

/**
 * Decodes the three parts of a compact JWS. Each must be in canonical form: without padding, line breaks or characters
 * of other alphabets (RFC 7515 §2). Every verifier uses it, also one that calls a library. Throws `malformed`.
 */
export function decodeCompact(compact: string): { header: Buffer; payload: Buffer; signature: Buffer; at: number } {
  const [first, second] = splitCompact(compact)
  return {
    header: decodeBase64url(compact.slice(0, first), 'the JWS header'),
    payload: decodeBase64url(compact.slice(first + 1, second), 'the JWS payload'),
    signature: decodeBase64url(compact.slice(second + 1), 'the JWS signature'),
    at: second,
  }
}

/** Parses a compact JWS and checks its form, not its signature. Throws `malformed`. */
export function decodeJws(compact: string): DecodedJws {
  if (compact.length > maxCompactChars) refuse('malformed', 'the JWS is too large')
  const { header, payload, signature, at } = decodeCompact(compact)
  return { header: readHeader(header), payload, signature, signingInput: Buffer.from(compact.slice(0, at), 'latin1') }
}

/**
 * Returns the kid of a header that has this type and a supported algorithm. Throws `wrong_type`, `bad_algorithm`,
 * `malformed`.
 */
export function requireKid(header: JwsHeader, typ: string): string {
  if (header.typ !== typ) refuse('wrong_type', `the JWS is not a ${typ}`)
  if (!isSigningAlg(header.alg)) refuse('bad_algorithm', 'the algorithm of the JWS is not allowed')
  if (typeof header.kid !== 'string' || header.kid.length === 0) refuse('malformed', 'the JWS header has no kid')
  return header.kid
}

/** Verifies a signature. The header's algorithm must be that of the key. Throws `bad_algorithm`, `bad_signature`. */
export function requireSignature(
  key: VerificationKey,
  { header, signingInput, signature }: Omit<DecodedJws, 'payload'>,
): void {
  if (header.alg !== key.alg) refuse('bad_algorithm', 'the algorithm of the JWS does not match its key')
  if (!verifyBytes(key, signingInput, signature)) refuse('bad_signature', 'the signature of the JWS is invalid')
}

/**
 * Verifies a compact JWS against our own key table (RFC 7515 §5.2, RFC 8725 §3.1, §3.11). Keys inside the message
 * (`jwk`, `jku`, `x5u`, `x5c`) are never used.
 * Throws `malformed`, `wrong_type`, `unknown_key`, `bad_algorithm`, `bad_signature`.
 */
export function verifyJws(
  compact: string,
  { typ, key }: { typ: string; key: KeyLookup },
): { header: JwsHeader; payload: Buffer } {
  const decoded = decodeJws(compact)
  const found = key(requireKid(decoded.header, typ)) ?? refuse('unknown_key', 'the JWS is signed by an unknown key')
  requireSignature(found, decoded)
  return { header: decoded.header, payload: decoded.payload }
}
