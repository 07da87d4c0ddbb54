import { hash, X509Certificate } from 'node:crypto'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  Certificate,
  Extension,
  Extensions,
  Name,
  RelativeDistinguishedName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509'
import { derFromRaw, integerContent } from './ecdsa-der.ts'
import { refuse } from './errors.ts'
import { importPublic, type PublicJwk, type SigningAlg } from './jwk.ts'
import type { Signer } from './signer.ts'

/** A certificate in both forms it is handed out in. */
export type CertificateFiles = { der: Buffer; pem: string }
type CertificateFields = {
  serial: Uint8Array
  issuer: Name
  subject: Name
  publicKey: SubjectPublicKeyInfo
  notBefore: Date
  notAfter: Date
  extensions: Extension[]
}

/** RFC 5758 §3.2, RFC 8410 §3; none of them takes parameters. */
const signatureOids: Record<SigningAlg, string> = {
  ES256: '1.2.840.10045.4.3.2',
  ES384: '1.2.840.10045.4.3.3',
  Ed25519: '1.3.101.112',
}
const organizationOid = '2.5.4.10'
const commonNameOid = '2.5.4.3'
/** ub-organization-name and ub-common-name (RFC 5280 appendix A.1). */
const maxNameChars = 64
const maxSerialBytes = 20

/** An ArrayBuffer of its own: a small Buffer is a window on a shared pool. */
const toArrayBuffer = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** O, then CN, each in an RDN of its own: one RDN with two values is another name to most readers. */
export function buildName(organization: string, commonName: string): Name {
  const rdn = (type: string, text: string) => {
    if (text.length === 0 || text.length > maxNameChars)
      refuse('malformed', 'a name in a certificate has 1 to 64 characters')
    const value = new AttributeValue({ utf8String: text })
    return new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value })])
  }
  return new Name([rdn(organizationOid, organization), rdn(commonNameOid, commonName)])
}

export function organizationOf(name: Name): string | undefined {
  const attributes = Array.from(name).flatMap((rdn) => Array.from(rdn))
  return attributes.find(({ type }) => type === organizationOid)?.value.toString()
}

export function subjectPublicKeyInfo(jwk: PublicJwk): SubjectPublicKeyInfo {
  return AsnConvert.parse(importPublic(jwk).export({ format: 'der', type: 'spki' }), SubjectPublicKeyInfo)
}

/** RFC 7093 §2 method 1: the leftmost 160 bits of SHA-256 over the key bits, where SHA-1 used to be. */
export function keyIdentifier(spki: SubjectPublicKeyInfo): Buffer {
  return hash('sha256', new Uint8Array(spki.subjectPublicKey), 'buffer').subarray(0, 20)
}

export function buildExtension(extnID: string, critical: boolean, value: object): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) })
}

/**
 * Certificates have whole seconds; a fraction would be written out and refused by strict readers (RFC 5280 §4.1.2.5.2).
 */
const toSecond = (date: Date) => new Date(Math.floor(date.getTime() / 1000) * 1000)

function serialContent(serial: Uint8Array): Buffer {
  const content = integerContent(serial)
  if (content.length > maxSerialBytes || content.every((byte) => byte === 0)) {
    refuse('malformed', 'a serial number is positive and has at most 20 octets')
  }
  return content
}

/**
 * Builds the to-be-signed part, has the signer sign it, and checks the result with the signer's public key before it
 * leaves: a key store that signs with another key than it announced must not go unnoticed. Throws `malformed`,
 * `bad_signature`.
 */
export async function signCertificate(signer: Signer, fields: CertificateFields): Promise<CertificateFiles> {
  const notBefore = toSecond(fields.notBefore)
  const notAfter = toSecond(fields.notAfter)
  if (notAfter <= notBefore) refuse('malformed', 'a certificate ends after it begins')
  const signatureAlgorithm = new AlgorithmIdentifier({ algorithm: signatureOids[signer.alg] })
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: toArrayBuffer(serialContent(fields.serial)),
    signature: signatureAlgorithm,
    issuer: fields.issuer,
    validity: new Validity({ notBefore, notAfter }),
    subject: fields.subject,
    subjectPublicKeyInfo: fields.publicKey,
    extensions: new Extensions(fields.extensions),
  })
  const raw = await signer.sign(new Uint8Array(AsnConvert.serialize(tbsCertificate)))
  const signatureValue = toArrayBuffer(signer.alg === 'Ed25519' ? raw : derFromRaw(raw))
  const der = Buffer.from(AsnConvert.serialize(new Certificate({ tbsCertificate, signatureAlgorithm, signatureValue })))
  const certificate = new X509Certificate(der)
  if (!certificate.verify(importPublic(signer.publicJwk)))
    refuse('bad_signature', 'the signer did not sign with its own key')
  return { der, pem: certificate.toString() }
}
