import type { X509Certificate } from 'node:crypto'
import { openCertificate } from '@holdfast/crypto'
import { FederationError } from '../proven.ts'

const maxCertificates = 10
const maxLength = 16 * 1024
const minBits = 2048

/** A certificate in PEM or as DER in base64. Only its key counts: providers often go on with one that has ended. */
export function readCertificate(text: string): X509Certificate {
  try {
    if (text.length <= maxLength)
      return openCertificate(text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64'))
  } catch {
    // Said below.
  }
  throw new FederationError('keys', 'A certificate of the identity provider cannot be read.')
}

export const isUsable = ({ publicKey }: X509Certificate): boolean =>
  publicKey.asymmetricKeyType === 'rsa' && (publicKey.asymmetricKeyDetails?.modulusLength ?? 0) >= minBits

/** The certificates that signatures are verified with, in PEM. */
export function signingCertificates(certificates: readonly string[]): string[] {
  if (certificates.length === 0 || certificates.length > maxCertificates)
    throw new FederationError('keys', `An identity provider has 1 to ${maxCertificates} certificates.`)
  const read = certificates.map(readCertificate)
  if (!read.every(isUsable))
    throw new FederationError('keys', `Signatures are verified with RSA keys of ${minBits} bits or more only.`)
  return [...new Set(read.map(String))]
}
