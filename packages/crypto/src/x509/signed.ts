import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { derFromRaw } from '../ecdsa-der.ts'
import { refuse } from '../errors.ts'
import { importPublic, publicJwkOf, type SigningAlg, spkiPem } from '../jwk.ts'
import type { Signer } from '../signer.ts'
import type { DerReader } from './der-read.ts'
import { bitString, objectIdentifier, sequence } from './der-write.ts'
import { type Oid, oid } from './oids.ts'

/** RFC 5758 §3.2, RFC 8410 §3; none of them has parameters. */
const algorithms = {
  ES256: { ...named('1.2.840.10045.4.3.2'), hash: 'sha256', keyType: 'ec' },
  ES384: { ...named('1.2.840.10045.4.3.3'), hash: 'sha384', keyType: 'ec' },
  ES512: { ...named('1.2.840.10045.4.3.4'), hash: 'sha512', keyType: 'ec' },
  Ed25519: { ...named('1.3.101.112'), hash: null, keyType: 'ed25519' },
} as const
function named(dotted: string) {
  const type = oid(dotted)
  return { type, identifier: sequence(objectIdentifier(type)) }
}
type Algorithm = (typeof algorithms)[keyof typeof algorithms]
const byOid = new Map<Oid, Algorithm>(Object.values(algorithms).map((algorithm) => [algorithm.type, algorithm]))

/** A signed structure of X.509 (RFC 5280 §4.1.1); `tbs` is the encoding that is signed. */
export type Signed = { tbs: Buffer; algorithm: Algorithm; signature: Buffer }

/** Returns the DER of an AlgorithmIdentifier. */
export const algorithmIdentifier = (alg: SigningAlg): Buffer => algorithms[alg].identifier

/** Throws `bad_algorithm` for an unsupported algorithm. */
export function readAlgorithm(reader: DerReader): Algorithm {
  const identifier = reader.sequence()
  const algorithm = byOid.get(identifier.oid()) ?? refuse('bad_algorithm', 'the signature algorithm is not supported')
  identifier.done()
  return algorithm
}

export function readSigned(reader: DerReader): Signed {
  const signed = reader.sequence()
  const parts = { tbs: signed.whole(), algorithm: readAlgorithm(signed), signature: signed.bitString() }
  signed.done()
  return parts
}

/** True if this key signed it. */
export function isSignedBy({ tbs, algorithm, signature }: Signed, publicKey: KeyObject): boolean {
  return publicKey.asymmetricKeyType === algorithm.keyType && verify(algorithm.hash, tbs, publicKey, signature)
}

/** Imports the key of a SubjectPublicKeyInfo. Throws `bad_algorithm`, or `malformed` if it is not on its curve. */
export function importSpki(spki: Buffer): KeyObject {
  publicJwkOf(spki)
  try {
    return createPublicKey(spkiPem(spki))
  } catch (cause) {
    return refuse('malformed', 'the key is not a point on its curve', cause)
  }
}

export async function sign(signer: Pick<Signer, 'alg' | 'sign'>, tbs: Buffer): Promise<Signed> {
  const raw = await signer.sign(tbs)
  return { tbs, algorithm: algorithms[signer.alg], signature: signer.alg === 'Ed25519' ? raw : derFromRaw(raw) }
}

/**
 * Throws `bad_signature` if the signature is not by the signer's own key. This detects a key store that signs with
 * another key than it announced.
 */
export function requireOwnSignature(signed: Signed, signer: Signer): void {
  if (!isSignedBy(signed, importPublic(signer.publicJwk)))
    refuse('bad_signature', 'the signature was not made with the key of the signer')
}

/** Signs, and verifies the signature before it is returned. Throws `bad_signature`. */
export async function signChecked(signer: Signer, tbs: Buffer): Promise<Signed> {
  const signed = await sign(signer, tbs)
  requireOwnSignature(signed, signer)
  return signed
}

export const encodeSigned = ({ tbs, algorithm, signature }: Signed): Buffer =>
  sequence(tbs, algorithm.identifier, bitString(signature))
