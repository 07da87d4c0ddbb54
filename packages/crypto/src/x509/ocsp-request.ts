import { refuse } from '../errors.ts'
import { type DerReader, readDer } from './der-read.ts'
import { contextOf, tags } from './der-write.ts'
import { type Extensions, readTaggedExtensions, requireKnown } from './extensions.ts'
import { type Oid, oids } from './oids.ts'

/**
 * Identifies the requested certificate (RFC 6960 §4.1.1). `der` is the complete encoding, which the response repeats.
 */
export type CertId = {
  der: Buffer
  hashAlgorithm: 'sha1' | 'sha256'
  issuerNameHash: Buffer
  issuerKeyHash: Buffer
  serial: string
}
export type OcspRequest = { certIds: CertId[]; nonce?: Buffer }

const maxRequestBytes = 4096
const maxCertIds = 20
/** RFC 9654 §2.1. */
const maxNonceBytes = 128
const hashAlgorithms = new Map<Oid, CertId['hashAlgorithm']>([
  [oids.sha1, 'sha1'],
  [oids.sha256, 'sha256'],
])

/**
 * Reads an OCSP request (RFC 6960 §4.1) of at most 4 KiB and 20 certificates. A signature is ignored. Throws
 * `malformed`, also for a nonce of no octet or more than 128 (RFC 9654), and `bad_algorithm` for hashes other than
 * SHA-1 and SHA-256, which only identify the issuer here.
 */
export function readOcspRequest(der: Uint8Array): OcspRequest {
  if (der.length > maxRequestBytes) refuse('malformed', 'the request is larger than 4 KiB')
  return readDer(Buffer.from(der.buffer, der.byteOffset, der.byteLength), (reader) => {
    const request = reader.sequence()
    const tbs = request.sequence()
    if (request.isAt(contextOf(0))) request.whole()
    request.done()
    const version = tbs.explicit(0)
    if (version && version.number() !== 0) refuse('malformed', 'the request is not of version 1')
    version?.done()
    if (tbs.isAt(contextOf(1))) tbs.whole()
    const certIds = readCertIds(tbs.sequence())
    const tagged = tbs.explicit(2)
    tbs.done()
    const nonce = tagged && readNonce(readTaggedExtensions(tagged))
    return nonce ? { certIds, nonce } : { certIds }
  })
}

function readCertIds(list: DerReader): CertId[] {
  const certIds: CertId[] = []
  while (!list.isDone) {
    if (certIds.length === maxCertIds) refuse('malformed', 'the request names too many certificates')
    const request = list.sequence()
    certIds.push(readCertId(request.whole(tags.sequence)))
    const tagged = request.explicit(0)
    if (tagged) requireKnown(readTaggedExtensions(tagged), [])
    request.done()
  }
  return certIds.length > 0 ? certIds : refuse('malformed', 'the request names no certificate')
}

function readCertId(der: Buffer): CertId {
  return readDer(der, (reader) => {
    const parts = reader.sequence()
    const algorithm = parts.sequence()
    const hashAlgorithm =
      hashAlgorithms.get(algorithm.oid()) ?? refuse('bad_algorithm', 'the hash algorithm is not SHA-1 or SHA-256')
    if (!algorithm.isDone) algorithm.content(tags.null)
    algorithm.done()
    const certId = {
      der,
      hashAlgorithm,
      issuerNameHash: parts.content(tags.octetString),
      issuerKeyHash: parts.content(tags.octetString),
      serial: parts.magnitude().toString('hex'),
    }
    parts.done()
    return certId
  })
}

function readNonce(extensions: Extensions): Buffer | undefined {
  requireKnown(extensions, [oids.ocspNonce])
  const found = extensions.get(oids.ocspNonce)
  if (!found) return undefined
  const nonce = readDer(found.value, (reader) => reader.content(tags.octetString))
  return nonce.length > 0 && nonce.length <= maxNonceBytes
    ? nonce
    : refuse('malformed', 'the nonce does not have 1 to 128 octets')
}
