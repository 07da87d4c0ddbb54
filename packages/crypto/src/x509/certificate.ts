import { refuse } from '../errors.ts'
import type { SigningAlg } from '../jwk.ts'
import type { Signer } from '../signer.ts'
import { type DerReader, readDer } from './der-read.ts'
import { contextOf, element, integer, sequence, time } from './der-write.ts'
import { type Extensions, readTaggedExtensions } from './extensions.ts'
import { decodePem, encodePem } from './pem.ts'
import { algorithmIdentifier, encodeSigned, readAlgorithm, readSigned, type Signed, signChecked } from './signed.ts'

/** A certificate in both forms that are returned. */
export type CertificateFiles = { der: Buffer; pem: string }

/** The parsed fields of a certificate (RFC 5280 §4.1). Names and the public key stay as DER; the serial is hex. */
export type Certificate = {
  der: Buffer
  signed: Signed
  serial: string
  issuer: Buffer
  subject: Buffer
  notBefore: Date
  notAfter: Date
  spki: Buffer
  extensions: Extensions
}

const maxCertificateBytes = 8192
const maxSerialBytes = 20

/** Certificates have whole seconds. */
export const toSecond = (date: Date): Date => new Date(Math.floor(date.getTime() / 1000) * 1000)

/** Throws `malformed` for a certificate that would end before it begins. */
function validity(notBefore: Date, notAfter: Date): Buffer {
  if (!(toSecond(notAfter) > toSecond(notBefore))) refuse('malformed', 'the certificate would end before it begins')
  return sequence(time(notBefore), time(notAfter))
}

/** RFC 5280 §4.1.2.2. Throws `malformed` for zero and for more than 20 octets. */
function serialNumber(serial: Uint8Array): Buffer {
  const encoded = integer(serial)
  if (encoded.length > maxSerialBytes + 2 || serial.every((byte) => byte === 0))
    refuse('malformed', 'the serial number is zero or longer than 20 octets')
  return encoded
}

type TbsFields = {
  serial: Uint8Array
  alg: SigningAlg
  issuer: Buffer
  subject: Buffer
  spki: Buffer
  notBefore: Date
  notAfter: Date
  extensions: readonly Buffer[]
}

/** `[0] version` with v3. */
const version3 = element(contextOf(0), integer(2))

/** RFC 5280 §4.1.2: names, key and extensions are given as DER. Throws `malformed`. */
export const tbsCertificate = ({
  serial,
  alg,
  issuer,
  subject,
  spki,
  notBefore,
  notAfter,
  extensions,
}: TbsFields): Buffer =>
  sequence(
    version3,
    serialNumber(serial),
    algorithmIdentifier(alg),
    issuer,
    validity(notBefore, notAfter),
    subject,
    spki,
    element(contextOf(3), sequence(...extensions)),
  )

/** Throws `malformed`, `bad_signature`. */
export async function signCertificate(signer: Signer, fields: Omit<TbsFields, 'alg'>): Promise<CertificateFiles> {
  return certificateFiles(await signChecked(signer, tbsCertificate({ ...fields, alg: signer.alg })))
}

export function certificateFiles(signed: Signed): CertificateFiles {
  const der = encodeSigned(signed)
  return { der, pem: encodePem('CERTIFICATE', der) }
}

/** Reads PEM or DER of at most 8 KiB. Throws `malformed`, `bad_algorithm`. */
export function readCertificate(certificate: string | Uint8Array): Certificate {
  const der = certificateDer(certificate)
  const signed = readDer(der, readSigned)
  return readDer(signed.tbs, (reader) => {
    const tbs = reader.sequence()
    const version = tbs.explicit(0) ?? refuse('malformed', 'the certificate is not of version 3')
    if (version.number() !== 2) refuse('malformed', 'the certificate is not of version 3')
    version.done()
    const serial = tbs.magnitude().toString('hex')
    if (readAlgorithm(tbs) !== signed.algorithm)
      refuse('malformed', 'the certificate names two different signature algorithms')
    const issuer = tbs.whole()
    const [notBefore, notAfter] = readValidity(tbs.sequence())
    const subject = tbs.whole()
    const spki = tbs.whole()
    const tagged = tbs.explicit(3) ?? refuse('malformed', 'the certificate has no extensions')
    tbs.done()
    const extensions = readTaggedExtensions(tagged)
    return { der, signed, serial, issuer, subject, notBefore, notAfter, spki, extensions }
  })
}

function certificateDer(certificate: string | Uint8Array): Buffer {
  if (typeof certificate === 'string') return decodePem(certificate, ['CERTIFICATE'], maxCertificateBytes)
  if (certificate.length > maxCertificateBytes) refuse('malformed', 'the certificate is larger than 8 KiB')
  return Buffer.from(certificate.buffer, certificate.byteOffset, certificate.byteLength)
}

function readValidity(reader: DerReader): [notBefore: Date, notAfter: Date] {
  const both: [Date, Date] = [reader.time(), reader.time()]
  reader.done()
  return both
}
