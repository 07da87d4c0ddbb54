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

/** What the listings show of a certificate (PEM or DER), whoever issued it. Throws `malformed`. */
export function certificateInfo(certificate: string | Buffer): CertificateInfo {
  let parsed: X509Certificate
  try {
    parsed = new X509Certificate(certificate)
  } catch (cause) {
    return refuse('malformed', 'not a certificate', cause)
  }
  return {
    subject: parsed.subject.split('\n').reverse().join(','),
    spki_sha256: hash('sha256', parsed.publicKey.export({ format: 'der', type: 'spki' }), 'hex'),
    not_before: parsed.validFromDate.toISOString(),
    not_after: parsed.validToDate.toISOString(),
    serial: parsed.serialNumber.toLowerCase(),
  }
}
