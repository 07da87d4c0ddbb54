import { refuse } from '../errors.ts'
import { readCertificate } from './certificate.ts'
import { type DerReader, readDer } from './der-read.ts'
import { tags } from './der-write.ts'
import {
  type Extensions,
  keyUsages,
  readAuthorityKeyIdentifier,
  readExtensions,
  readKeyUsage,
  readTaggedExtensions,
  requireKnown,
} from './extensions.ts'
import { subjectKeyOf } from './issuer.ts'
import { oids } from './oids.ts'
import { type RevocationReason, reasonOf } from './revocation-reason.ts'
import { importSpki, isSignedBy, readAlgorithm, readSigned } from './signed.ts'

/** `revoked` is by serial, in hex. */
export type Crl = {
  number: bigint
  thisUpdate: Date
  nextUpdate: Date
  revoked: ReadonlyMap<string, { revokedAt: Date; reason: RevocationReason }>
}

/** About 300,000 entries. */
const maxCrlBytes = 16 * 1024 * 1024

/**
 * Reads a full CRL (RFC 5280 §5) in DER, at most 16 MiB, that this CA signed. The caller must check that it is the
 * newest. Throws `malformed`, `bad_algorithm`, `wrong_issuer` for the CRL of another CA, `bad_signature`.
 */
export function readCrl(der: Uint8Array, issuerCertificate: string | Uint8Array): Crl {
  if (der.length > maxCrlBytes) refuse('malformed', 'the CRL is larger than 16 MiB')
  const issuer = readCertificate(issuerCertificate)
  const usage = issuer.extensions.get(oids.keyUsage)
  if (!usage || !(readKeyUsage(usage) & keyUsages.cRLSign))
    refuse('wrong_issuer', 'the key usage of this CA does not allow it to sign CRLs')
  const signed = readDer(Buffer.from(der.buffer, der.byteOffset, der.byteLength), readSigned)
  return readDer(signed.tbs, (reader) => {
    const list = reader.sequence()
    if (list.number() !== 1) refuse('malformed', 'the CRL is not of version 2')
    if (readAlgorithm(list) !== signed.algorithm)
      refuse('malformed', 'the CRL names two different signature algorithms')
    if (!list.whole().equals(issuer.subject)) refuse('wrong_issuer', 'the CRL is from another CA')
    if (!isSignedBy(signed, importSpki(issuer.spki))) refuse('bad_signature', 'the CRL is not signed by its issuer')
    const [thisUpdate, nextUpdate] = [list.time(), list.time()]
    const revoked = list.isAt(tags.sequence) ? readEntries(list.sequence()) : new Map()
    const tagged = list.explicit(0) ?? refuse('malformed', 'the CRL has no extensions')
    list.done()
    const extensions = readTaggedExtensions(tagged)
    const key = extensions.get(oids.authorityKeyIdentifier)
    if (!key || !readAuthorityKeyIdentifier(key)?.equals(subjectKeyOf(issuer)))
      refuse('wrong_issuer', 'the CRL names another key')
    return { number: numberOf(extensions), thisUpdate, nextUpdate, revoked }
  })
}

function numberOf(extensions: Extensions): bigint {
  requireKnown(extensions, [])
  const { value } = extensions.get(oids.cRLNumber) ?? refuse('malformed', 'the CRL has no number')
  return BigInt(`0x${readDer(value, (reader) => reader.magnitude()).toString('hex')}`)
}

function readEntries(entries: DerReader): Crl['revoked'] {
  const revoked = new Map<string, { revokedAt: Date; reason: RevocationReason }>()
  while (!entries.isDone) {
    const entry = entries.sequence()
    const serial = entry.magnitude().toString('hex')
    const revokedAt = entry.time()
    const reason = entry.isDone ? 'unspecified' : readReason(readExtensions(entry))
    entry.done()
    revoked.set(serial, { revokedAt, reason })
  }
  return revoked
}

function readReason(extensions: Extensions): RevocationReason {
  requireKnown(extensions, [])
  const found = extensions.get(oids.cRLReason)
  if (!found) return 'unspecified'
  const code = readDer(found.value, (reader) => reader.content(tags.enumerated))
  const reason = code.length === 1 ? reasonOf(code[0]!) : undefined
  return reason ?? refuse('malformed', 'the CRL has an unknown revocation reason')
}
