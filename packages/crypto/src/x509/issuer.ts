import { refuse } from '../errors.ts'
import { publicSpki } from '../jwk.ts'
import type { Purpose, Signer } from '../signer.ts'
import { type Certificate, readCertificate, toSecond } from './certificate.ts'
import { keyIdentifierOf, readSubjectKeyIdentifier } from './extensions.ts'
import { oids } from './oids.ts'

export function requirePurpose(signer: Signer, ...purposes: readonly Purpose[]): void {
  if (!purposes.includes(signer.purpose))
    refuse('wrong_type', `a ${signer.purpose} key cannot be used as a ${purposes.join(' or ')} key`)
}

/** Reads the certificate of the CA whose key the signer has. Throws `wrong_type`, `unknown_key`, `malformed`. */
export function readIssuer(
  signer: Signer,
  certificate: string | Uint8Array,
  ...purposes: readonly Purpose[]
): Certificate {
  requirePurpose(signer, ...purposes)
  const issuer = readCertificate(certificate)
  if (!issuer.spki.equals(publicSpki(signer.publicJwk)))
    refuse('unknown_key', 'the signing key does not belong to the certificate')
  return issuer
}

/**
 * Returns the key identifier by which other certificates name this one's key: the one in it, otherwise a computed one.
 */
export function subjectKeyOf({ extensions, spki }: Certificate): Buffer {
  const named = extensions.get(oids.subjectKeyIdentifier)
  return named ? readSubjectKeyIdentifier(named) : keyIdentifierOf(spki)
}

/**
 * Returns the same for a certificate in PEM or DER, in hex: the `issuerKeyIdentifier` of certificates that it issued.
 * Throws `malformed`.
 */
export const keyIdentifier = (certificate: string | Uint8Array): string =>
  subjectKeyOf(readCertificate(certificate)).toString('hex')

/** Throws `not_yet_valid` or `expired` if the period begins before that of the issuer or ends after it. */
export function requireWithin(fields: { notBefore: Date; notAfter: Date }, issuer: Certificate): void {
  if (toSecond(fields.notBefore) < issuer.notBefore)
    refuse('not_yet_valid', 'the certificate would begin before that of its issuer')
  if (toSecond(fields.notAfter) > issuer.notAfter)
    refuse('expired', 'the certificate would end after that of its issuer')
}
