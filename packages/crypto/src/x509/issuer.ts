import { refuse } from '../errors.ts'
import { publicSpki } from '../jwk.ts'
import type { Purpose, Signer } from '../signer.ts'
import { type Certificate, readCertificate, toSecond } from './certificate.ts'
import { keyIdentifierOf, readSubjectKeyIdentifier } from './extensions.ts'
import { oids } from './oids.ts'

export function requirePurpose(signer: Signer, ...purposes: readonly Purpose[]): void {
  if (!purposes.includes(signer.purpose))
    refuse('wrong_type', `a ${signer.purpose} key can't do the work of a ${purposes.join(' or ')} key`)
}

/** The certificate of the CA whose key the signer holds. Throws `wrong_type`, `unknown_key`, `malformed`. */
export function readIssuer(
  signer: Signer,
  certificate: string | Uint8Array,
  ...purposes: readonly Purpose[]
): Certificate {
  requirePurpose(signer, ...purposes)
  const issuer = readCertificate(certificate)
  if (!issuer.spki.equals(publicSpki(signer.publicJwk)))
    refuse('unknown_key', 'the signer is not the key of the certificate')
  return issuer
}

/** The identifier by which others name the key of this certificate: the one that stands in it. */
export function subjectKeyOf({ extensions, spki }: Certificate): Buffer {
  const named = extensions.get(oids.subjectKeyIdentifier)
  return named ? readSubjectKeyIdentifier(named) : keyIdentifierOf(spki)
}

/** The same of a certificate as PEM or DER, in hex: `issuerKeyIdentifier` of what it issued. Throws `malformed`. */
export const keyIdentifier = (certificate: string | Uint8Array): string =>
  subjectKeyOf(readCertificate(certificate)).toString('hex')

/** Throws `not_yet_valid` or `expired` for what would begin before its issuer or outlive it. */
export function requireWithin(fields: { notBefore: Date; notAfter: Date }, issuer: Certificate): void {
  if (toSecond(fields.notBefore) < issuer.notBefore)
    refuse('not_yet_valid', 'a certificate begins no earlier than its issuer')
  if (toSecond(fields.notAfter) > issuer.notAfter) refuse('expired', 'a certificate ends no later than its issuer')
}
