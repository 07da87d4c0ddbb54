import type { X509Certificate } from 'node:crypto'
import { openCertificate } from '@holdfast/crypto'
import { FederationError } from '../proven-identity.ts'

const maxCertificates = 10
const maxLength = 16 * 1024
const minBits = 2048

/** Reads a certificate in PEM, or DER in base64. Its end is not checked: providers often keep using an expired one. */
export function readCertificate(text: string): X509Certificate {
  try {
    if (text.length <= maxLength)
      return openCertificate(text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64'))
  } catch {
    // The error below covers this case.
  }
  throw new FederationError('keys', 'A certificate of the identity provider cannot be read.')
}

export const isUsable = ({ publicKey }: X509Certificate): boolean =>
  publicKey.asymmetricKeyType === 'rsa' && (publicKey.asymmetricKeyDetails?.modulusLength ?? 0) >= minBits

/** Returns the certificates that verify signatures, in PEM. */
export function signingCertificates(certificates: readonly string[]): string[] {
  if (certificates.length === 0 || certificates.length > maxCertificates)
    throw new FederationError('keys', `An identity provider must have 1 to ${maxCertificates} certificates.`)
  const read = certificates.map(readCertificate)
  if (!read.every(isUsable))
    throw new FederationError(
      'keys',
      `A certificate of the identity provider does not have an RSA key of ${minBits} bits or more.`,
    )
  return [...new Set(read.map(String))]
}

/** Parses the date in a certificate's text; undefined for an invalid date or time ("Bad time value"). */
export function certificateDate(text: string): Date | undefined {
  const date = new Date(text)
  return Number.isFinite(date.getTime()) ? date : undefined
}
