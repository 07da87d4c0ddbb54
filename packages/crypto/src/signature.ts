import { type KeyObject, sign, verify } from 'node:crypto'
import { derFromRaw } from './ecdsa-der.ts'
import type { SigningAlg } from './jwk.ts'

/** What a key table holds: the algorithm belongs to the key, never to the message. */
export type VerificationKey = { publicKey: KeyObject; alg: SigningAlg }

const algorithms = {
  ES256: { hash: 'sha256', type: 'ec', length: 64 },
  ES384: { hash: 'sha384', type: 'ec', length: 96 },
  Ed25519: { hash: null, type: 'ed25519', length: 64 },
} as const

export function isSigningAlg(value: unknown): value is SigningAlg {
  return value === 'ES256' || value === 'ES384' || value === 'Ed25519'
}

/**
 * A key of another type must not reach the primitive: an Ed25519 key under `ES256` would verify something else than
 * announced.
 */
function fits(alg: SigningAlg, key: KeyObject): boolean {
  return key.asymmetricKeyType === algorithms[alg].type
}

/**
 * JWS signature value (RFC 7518 §3.4 raw r‖s, RFC 8037 §3.1). Throws TypeError when the key does not fit the algorithm.
 */
export function signBytes(alg: SigningAlg, privateKey: KeyObject, bytes: Uint8Array): Buffer {
  if (!fits(alg, privateKey)) throw new TypeError(`the key is not for ${alg}`)
  const signature = sign(algorithms[alg].hash, bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' })
  if (signature.length !== algorithms[alg].length) throw new TypeError(`the key is not for ${alg}`)
  return signature
}

/**
 * False for a signature that does not hold, has the wrong length, or comes with a key that does not fit the algorithm.
 * A key on another curve needs no look-up of its own, slow on a key's first use: the raw signature has another length
 * there. The platform takes a third less time for a key and a DER signature than for a key with options.
 */
export function verifyBytes({ alg, publicKey }: VerificationKey, bytes: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== algorithms[alg].length || !fits(alg, publicKey)) return false
  return verify(algorithms[alg].hash, bytes, publicKey, alg === 'Ed25519' ? signature : derFromRaw(signature))
}
