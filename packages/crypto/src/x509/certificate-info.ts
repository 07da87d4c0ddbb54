import { hash, X509Certificate } from 'node:crypto'
import { refuse } from '../errors.ts'

/** Hex is lower case without separators, times are RFC 3339, the subject is RFC 4514 (most specific first). */
export type CertificateInfo = {
  subject: string
  spki_sha256: string
  not_before: string
  not_after: string
  serial: string
}

/**
 * Opens a certificate (PEM or DER) of any issuer. The platform parses its name, dates and key only on access, and
 * throws then, so this function accesses all of them. A date that does not exist is detected by its text ("Bad time
 * value"), because its Date may have any value. Throws `malformed`.
 */
export function openCertificate(certificate: string | Buffer): X509Certificate {
  try {
    const opened = new X509Certificate(certificate)
    const dates = [opened.validFrom, opened.validTo].map((text) => Date.parse(text))
    if (opened.publicKey && opened.serialNumber && dates.every(Number.isFinite)) return opened
  } catch (cause) {
    return refuse('malformed', 'the text is not a certificate', cause)
  }
  return refuse('malformed', 'the certificate has a date that does not exist')
}

/** Returns the listed fields of a certificate (PEM or DER) of any issuer. Throws `malformed`. */
export function certificateInfo(certificate: string | Buffer): CertificateInfo {
  const parsed = openCertificate(certificate)
  return {
    subject: (parsed.subject ?? '').split('\n').reverse().join(','),
    spki_sha256: hash('sha256', parsed.publicKey.export({ format: 'der', type: 'spki' }), 'hex'),
    not_before: parsed.validFromDate.toISOString(),
    not_after: parsed.validToDate.toISOString(),
    serial: parsed.serialNumber.toLowerCase(),
  }
}
