import { hash, verify } from 'node:crypto'
import { refuse } from '../errors.ts'
import { type PublicJwk, publicJwkOf, spkiPem } from '../jwk.ts'
import { readDer } from './der-read.ts'
import { contextOf } from './der-write.ts'
import { decodeBase64, decodePem } from './pem.ts'
import { readSigned, type Signed } from './signed.ts'

const maxRequestBytes = 8192
/** RFC 7468 §7: old programs write the second one. */
const labels = ['CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST'] as const

/** The requesting key, and the SHA-256 of its SubjectPublicKeyInfo in hex. */
export type CertificateRequest = { publicJwk: PublicJwk; spkiSha256: string }

/**
 * Reads a PKCS#10 request (RFC 2986), PEM or DER in base64, of at most 8 KiB, and verifies the proof of possession of
 * the key. Other requested values (subject, alternative names, extensions) are ignored. Throws `malformed`,
 * `bad_algorithm` for an unsupported key or signature, `bad_signature`.
 */
export function readCertificateRequest(text: string): CertificateRequest {
  const der = text.includes('-----BEGIN ')
    ? decodePem(text, labels, maxRequestBytes)
    : decodeBase64(text, maxRequestBytes)
  const signed = readDer(der, readSigned)
  const spki = readDer(signed.tbs, (reader) => {
    const info = reader.sequence()
    if (info.number() !== 0) refuse('malformed', 'the request is not of version 1')
    info.sequence()
    const key = info.whole()
    info.content(contextOf(0))
    info.done()
    return key
  })
  const publicJwk = publicJwkOf(spki)
  if (signed.algorithm.keyType !== (publicJwk.kty === 'EC' ? 'ec' : 'ed25519'))
    refuse('bad_algorithm', 'the signature algorithm does not match the key')
  if (!isSignedWith(signed, spki)) refuse('bad_signature', 'the request is not signed with its key')
  return { publicJwk, spkiSha256: hash('sha256', spki, 'hex') }
}

/** No key object is kept, because the garbage collector does not count its memory outside the heap. */
function isSignedWith({ tbs, algorithm, signature }: Signed, spki: Buffer): boolean {
  try {
    return verify(algorithm.hash, tbs, spkiPem(spki), signature)
  } catch (cause) {
    return refuse('malformed', 'the key is not a point on its curve', cause)
  }
}
