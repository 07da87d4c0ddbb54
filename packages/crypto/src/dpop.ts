import { createPublicKey, hash, KeyObject, randomBytes } from 'node:crypto'
import { decodeBase64url, encodeBase64url } from './base64url.ts'
import { refuse } from './errors.ts'
import { type Instant, numericDate } from './instant.ts'
import { algOf, importPublic, type PrivateJwk, type PublicJwk, parsePublicJwk, thumbprint } from './jwk.ts'
import { decodeHeader, splitCompact } from './jws.ts'
import { signBytes, type VerificationKey, verifyBytes, verifyBytesOnce } from './signature.ts'
import { openPrivateKey } from './signer.ts'
import { parseStrictObject } from './strict-json.ts'

const proofType = 'dpop+jwt'

export type ProofAlg = 'ES256' | 'Ed25519'
/**
 * The content of a verified proof. To detect replay, the caller inserts `proofKey(jkt, jti)`. The caller must check
 * `nonce`.
 */
export type VerifiedProof = { jkt: string; jti: string; iat: number; publicJwk: PublicJwk; nonce?: string }
export type ProofExpectation = {
  /** The values of the DPoP header as received. */
  proofs: string | readonly string[] | undefined
  method: string
  /** Public base URL and path, from configuration: never from Host or X-Forwarded-*. Query and fragment are ignored. */
  url: string
  /** Other URLs of the same endpoint, also from configuration. */
  otherUrls?: readonly string[]
  /** The credential that the proof must be bound to. */
  accessToken: string
  now: Instant
  /** Thumbprint in the credential's `cnf`. Absent at enrollment, where the proof introduces the key. */
  jkt?: string
  /** Largest difference between the proof's time and `now`, in either direction. */
  toleranceSeconds: number
  /** The header of an earlier proof by this key. A device sends the same one every time. */
  known?: ProofHeader | undefined
  /** Called with an unknown header once the proof is verified for `jkt`. From then on it may be passed as `known`. */
  onHeader?: (take: () => ProofHeader) => void
}

/** The first part of a proof, parsed, with the imported key. Making it costs half a verification and about 3 KB. */
export type ProofHeader = ReadHeader & { key: VerificationKey }
type ReadHeader = { segment: string; jkt: string; publicJwk: PublicJwk }

const maxProofChars = 8 * 1024
const maxKnownHeaderChars = 1024
const maxJtiChars = 256

function readHeader(segment: string): ReadHeader {
  const { typ, alg, jwk } = decodeHeader(segment)
  if (typ !== proofType) refuse('wrong_type', 'the value of the DPoP header is not a DPoP proof')
  if (alg !== 'ES256' && alg !== 'Ed25519') refuse('bad_algorithm', 'the algorithm of the proof is not allowed')
  const publicJwk = Object.freeze(parsePublicJwk(jwk))
  if (algOf(publicJwk) !== alg) refuse('bad_algorithm', 'the algorithm of the proof does not match its key')
  return { segment, jkt: thumbprint(publicJwk), publicJwk }
}

function singleProof(proofs: ProofExpectation['proofs']): string {
  const proof = typeof proofs === 'string' ? proofs : proofs?.length === 1 ? proofs[0] : undefined
  if (proof === undefined) refuse('malformed', 'exactly one DPoP header is required')
  if (proof.length > maxProofChars) refuse('malformed', 'the proof is too large')
  return proof
}

/** Returns `url` up to its query or fragment. */
function stripUrl(url: string): string {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}

/**
 * True if the texts are equal, or equal after syntax- and scheme-based normalisation (RFC 9449 §4.3, RFC 3986 §6.2.2,
 * §6.2.3).
 */
function sameTarget(htu: string, url: string): boolean {
  const expected = stripUrl(url)
  if (htu === expected) return true
  if (!URL.canParse(htu) || !URL.canParse(expected)) return false
  return new URL(htu).href === new URL(expected).href
}

const isTarget = (htu: string, { url, otherUrls = [] }: ProofExpectation): boolean =>
  sameTarget(htu, url) || otherUrls.some((other) => sameTarget(htu, other))

/** Returns the `ath` of a token (RFC 9449 §4.2). */
function tokenHash(accessToken: string): string {
  return hash('sha256', accessToken, 'base64url')
}

/**
 * Verifies a proof of possession in the order of RFC 9449 §4.3; `htu` has no query. The caller must check if the `jti`
 * was seen before, and remember it for more than twice `toleranceSeconds`.
 * Throws `malformed`, `wrong_type`, `bad_algorithm`, `bad_signature`, `wrong_binding`, `expired`, `not_yet_valid`.
 */
export function verifyProof(expected: ProofExpectation): VerifiedProof {
  const proof = singleProof(expected.proofs)
  const [first, second] = splitCompact(proof)
  const segment = proof.slice(0, first)
  const known = expected.known?.segment === segment ? expected.known : undefined
  const header = known ?? readHeader(segment)
  const { jkt, publicJwk } = header
  const signature = decodeBase64url(proof.slice(second + 1), 'the proof signature')
  const payload = decodeBase64url(proof.slice(first + 1, second), 'the proof payload')
  const signed = Buffer.from(proof.slice(0, second), 'latin1')
  const holds = known ? verifyBytes(known.key, signed, signature) : verifyBytesOnce(publicJwk, signed, signature)
  if (!holds) refuse('bad_signature', 'the signature of the proof is invalid')

  const { htm, htu, iat, jti, ath, nonce } = parseStrictObject(payload, 'the proof')
  if (typeof jti !== 'string' || jti.length === 0 || jti.length > maxJtiChars)
    refuse('malformed', 'the jti of the proof is missing or too long')
  if (typeof iat !== 'number') refuse('malformed', 'the proof has no iat')
  if (nonce !== undefined && typeof nonce !== 'string') refuse('malformed', 'the nonce of the proof is not a string')
  if (htm !== expected.method) refuse('wrong_binding', 'the proof is for another method')
  if (typeof htu !== 'string' || !isTarget(htu, expected)) refuse('wrong_binding', 'the proof is for another URL')
  const now = numericDate(expected.now)
  if (now - iat > expected.toleranceSeconds) refuse('expired', 'the proof is too old')
  if (iat - now > expected.toleranceSeconds) refuse('not_yet_valid', 'the iat of the proof is in the future')
  if (ath !== tokenHash(expected.accessToken)) refuse('wrong_binding', 'the proof is for another token')
  if (expected.jkt !== undefined) {
    if (jkt !== expected.jkt) refuse('wrong_binding', 'the proof was signed with another key')
    if (!known && segment.length <= maxKnownHeaderChars) expected.onHeader?.(() => toKeep(header))
  }
  return nonce === undefined ? { jkt, jti, iat, publicJwk } : { jkt, jti, iat, publicJwk, nonce }
}

/** A slice would keep the whole proof in memory, so the segment is copied. */
const toKeep = ({ segment, jkt, publicJwk }: ReadHeader): ProofHeader => ({
  segment: Buffer.from(segment, 'latin1').toString('latin1'),
  key: { publicKey: importPublic(publicJwk), alg: algOf(publicJwk) },
  jkt,
  publicJwk,
})

/**
 * Returns the key of the replay table: SHA-256(jkt ‖ jti). `jkt` has a fixed length, so no two pairs share their
 * concatenation.
 */
export function proofKey(jkt: string, jti: string): Buffer {
  return hash('sha256', jkt + jti, 'buffer')
}

/**
 * A key that signs but cannot be exported, such as one in a platform key store. `signSync` returns the signature in JWS
 * form.
 */
export type ProofSigner = { alg: ProofAlg; publicJwk: PublicJwk; signSync(bytes: Uint8Array): Uint8Array }
export type ProofRequest = {
  method: string
  /** The request's URL. Query and fragment are left out of the proof. */
  url: string
  /** The credential sent with the request. Absent only if there is none yet. */
  accessToken?: string
  nonce?: string
  now: Instant
  jti?: string
}

type Prepared = { header: string; sign(bytes: Uint8Array): Uint8Array }

const prepared = new WeakMap<KeyObject | PrivateJwk | ProofSigner, Prepared>()

function toSigner(key: KeyObject | PrivateJwk | ProofSigner): ProofSigner {
  if ('signSync' in key) return key
  const { privateKey, publicJwk } =
    key instanceof KeyObject
      ? { privateKey: key, publicJwk: parsePublicJwk(createPublicKey(key).export({ format: 'jwk' })) }
      : openPrivateKey(key)
  const alg = algOf(publicJwk)
  if (alg === 'ES384') return refuse('bad_algorithm', 'a proof must be signed with ES256 or Ed25519')
  return { alg, publicJwk, signSync: (bytes) => signBytes(alg, privateKey, bytes) }
}

/** Importing a key costs more than a signature, so the parts that depend only on the key are cached. */
function prepare(key: KeyObject | PrivateJwk | ProofSigner): Prepared {
  const known = prepared.get(key)
  if (known) return known
  const signer = toSigner(key)
  const jwk = parsePublicJwk(signer.publicJwk)
  const header = Buffer.from(JSON.stringify({ typ: proofType, alg: signer.alg, jwk })).toString('base64url')
  const made = { header, sign: (bytes: Uint8Array) => signer.signSync(bytes) }
  prepared.set(key, made)
  return made
}

/**
 * Returns the value of a DPoP header for one request (RFC 9449 §4.2). Throws `bad_algorithm`, and `malformed` for a key
 * that cannot make proofs.
 */
export function createProof(key: KeyObject | PrivateJwk | ProofSigner, request: ProofRequest): string {
  const { header, sign } = prepare(key)
  const claims = {
    jti: request.jti ?? randomBytes(16).toString('base64url'),
    htm: request.method,
    htu: stripUrl(request.url),
    iat: Math.floor(numericDate(request.now)),
    ...(request.accessToken === undefined ? {} : { ath: tokenHash(request.accessToken) }),
    ...(request.nonce === undefined ? {} : { nonce: request.nonce }),
  }
  const input = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${input}.${encodeBase64url(sign(Buffer.from(input, 'latin1')))}`
}
