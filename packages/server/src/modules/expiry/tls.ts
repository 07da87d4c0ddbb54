import { X509Certificate } from 'node:crypto'
import type { ExpiringObject } from '../../kernel/expiring-object.ts'

/**
 * Reads the certificates that a listener presents (PEM, leaf first). They stay the same as long as its process runs.
 */
export const certificatesIn = (pem: string): ExpiringObject[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map((text) => {
    const certificate = new X509Certificate(text)
    return {
      type: 'tls_certificate',
      id: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
      // A certificate that names hosts may have no subject.
      name: (certificate.subjectAltName ?? certificate.subject ?? certificate.serialNumber).split(/, |\n/)[0] ?? '',
      since: certificate.validFromDate,
      expiresAt: certificate.validToDate,
      renewal: 'by_hand',
    }
  })
