import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto'
import { CryptoError, openCertificate } from '@holdfast/crypto'
import type { Variable } from './env.ts'
import { readNamedFile } from './files.ts'
import { shown, wrongSetting } from './wrong-setting.ts'

const takesCertificate = 'a PEM file with the certificate of this server first, then those of its intermediates'
const takesKey = 'a PEM file with the private key of the certificate, without a passphrase'

/**
 * Reads the certificate and the key for TLS.
 *
 * @throws ConfigError if they can't be used; it names the variable, the file and the fault
 */
export function readTlsFiles(files: { certFile: string; keyFile: string }, now = new Date()) {
  const cert = readNamedFile('HOLDFAST_TLS_CERT_FILE', files.certFile, takesCertificate)
  const key = readNamedFile('HOLDFAST_TLS_KEY_FILE', files.keyFile, takesKey)
  const certificate = certificateIn(cert, files.certFile, now)
  if (!certificate.checkPrivateKey(privateKeyIn(key, files.keyFile)))
    throw wrongSetting(
      'HOLDFAST_TLS_KEY_FILE',
      `names the file ${shown(files.keyFile)}, whose key does not belong to the certificate in ${shown(files.certFile)}`,
      takesKey,
    )
  return { cert, key }
}

const labelsIn = (pem: Buffer) =>
  [...pem.toString('latin1').matchAll(/-----BEGIN ([A-Z0-9 ]+)-----/g)].map((m) => m[1]!)
const certificatePem =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g

function certificateIn(pem: Buffer, file: string, now: Date): X509Certificate {
  const wrong = (why: string) => wrongIn('HOLDFAST_TLS_CERT_FILE', file, why, takesCertificate)
  const labels = labelsIn(pem)
  if (!labels.some((label) => label.endsWith('CERTIFICATE')))
    throw wrong(
      labels.some((label) => label.endsWith('PRIVATE KEY'))
        ? 'has a private key and no certificate (are the two files swapped?)'
        : hasNoPem(labels, 'certificate'),
    )
  const all = pem.toString('latin1').match(certificatePem) ?? []
  const parsed = all.map((text, i) => {
    try {
      return openCertificate(text)
    } catch (e) {
      if (!(e instanceof CryptoError)) throw e
      throw wrong(`cannot be used: certificate number ${i + 1} is unreadable (${e.message})`)
    }
  })
  const [first] = parsed
  if (!first || all.length < labels.filter((label) => label.endsWith('CERTIFICATE')).length)
    throw wrong('has an incomplete certificate')
  if (first.validToDate <= now) throw wrong(`has a certificate that expired on ${day(first.validToDate)}`)
  if (first.validFromDate > now)
    throw wrong(`has a certificate that is valid only from ${first.validFromDate.toISOString()} on`)
  return first
}

function privateKeyIn(pem: Buffer, file: string): KeyObject {
  const wrong = (why: string) => wrongIn('HOLDFAST_TLS_KEY_FILE', file, why, takesKey)
  const labels = labelsIn(pem)
  const isEncrypted = labels.includes('ENCRYPTED PRIVATE KEY') || /Proc-Type: 4,ENCRYPTED/.test(pem.toString('latin1'))
  if (isEncrypted) throw wrong('has an encrypted key (openssl pkey -in FILE -out PLAIN_FILE removes the passphrase)')
  if (!labels.some((label) => label.endsWith('PRIVATE KEY')))
    throw wrong(
      labels.includes('CERTIFICATE')
        ? 'has a certificate and no private key (are the two files swapped?)'
        : hasNoPem(labels, 'private key'),
    )
  try {
    return createPrivateKey(pem)
  } catch {
    throw wrong('has a private key that cannot be parsed')
  }
}

const hasNoPem = (labels: readonly string[], what: string) =>
  labels.length > 0 ? `has a ${labels[0]} and no ${what}` : `has no PEM block (a line with -----BEGIN)`
const wrongIn = (name: Variable, file: string, why: string, takes: string) =>
  wrongSetting(name, `names the file ${shown(file)}, which ${why}`, takes)
const day = (date: Date) => date.toISOString().slice(0, 10)
