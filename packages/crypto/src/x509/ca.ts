import { randomBytes } from 'node:crypto'
import { refuse } from '../errors.ts'
import { type PublicJwk, publicSpki } from '../jwk.ts'
import type { Signer } from '../signer.ts'
import { type CertificateFiles, readCertificate, signCertificate } from './certificate.ts'
import {
  authorityKeyIdentifier,
  basicConstraints,
  keyIdentifierOf,
  keyUsage,
  keyUsages,
  subjectKeyIdentifier,
} from './extensions.ts'
import { readIssuer, requirePurpose, requireWithin, subjectKeyOf } from './issuer.ts'
import { buildName, readName } from './name.ts'

type Dates = { notBefore: Date; notAfter: Date }

/**
 * The tenant becomes the O of the subject. The CN defaults to the role and the start of the serial, so that names stay
 * distinct.
 */
export type CaCertificateFields = Dates & { tenantId: string; serial: Uint8Array; commonName?: string }

/** Returns 16 random bytes that read as a positive INTEGER of full length (RFC 5280 §4.1.2.2). */
export function mintSerial(): Buffer {
  const serial = randomBytes(16)
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  return serial
}

const caSubject = (role: string, { tenantId, serial, commonName }: CaCertificateFields): Buffer =>
  buildName(tenantId, commonName ?? `${role} ${Buffer.from(serial.subarray(0, 4)).toString('hex')}`)

const rootUsages = keyUsages.keyCertSign | keyUsages.cRLSign

/**
 * Creates a tenant's self-signed root (RFC 5280 §4.2). It has no path length: one would break verification through a
 * cross certificate during rotation. Throws `wrong_type` unless the signer is a `ca-root` key, `bad_algorithm` unless
 * it is on P-384, `malformed` for unusable fields.
 */
export async function createRootCertificate(signer: Signer, fields: CaCertificateFields): Promise<CertificateFiles> {
  requirePurpose(signer, 'ca-root')
  if (signer.alg !== 'ES384') refuse('bad_algorithm', 'the root key is not a P-384 key')
  const subject = caSubject('Root CA', fields)
  const spki = publicSpki(signer.publicJwk)
  const id = keyIdentifierOf(spki)
  return signCertificate(signer, {
    ...fields,
    issuer: subject,
    subject,
    spki,
    extensions: [
      basicConstraints({ ca: true }),
      keyUsage(rootUsages),
      subjectKeyIdentifier(id),
      authorityKeyIdentifier(id),
    ],
  })
}

/**
 * Creates a tenant's issuing CA under its root: path length 0, and digitalSignature because it signs OCSP responses
 * itself. Throws `unknown_key` if the signer is not the root's key, `wrong_context` for a root of another tenant,
 * `not_yet_valid` or `expired` if it would begin before or end after its root.
 */
export async function createIssuingCertificate(
  rootSigner: Signer,
  rootCertificate: string | Uint8Array,
  issuingPublicJwk: PublicJwk,
  fields: CaCertificateFields,
): Promise<CertificateFiles> {
  const root = readIssuer(rootSigner, rootCertificate, 'ca-root')
  if (readName(root.subject).organization !== fields.tenantId)
    refuse('wrong_context', 'the root belongs to another tenant')
  requireWithin(fields, root)
  const spki = publicSpki(issuingPublicJwk)
  return signCertificate(rootSigner, {
    ...fields,
    issuer: root.subject,
    subject: caSubject('Issuing CA', fields),
    spki,
    extensions: [
      basicConstraints({ ca: true, pathLength: 0 }),
      keyUsage(rootUsages | keyUsages.digitalSignature),
      subjectKeyIdentifier(keyIdentifierOf(spki)),
      authorityKeyIdentifier(subjectKeyOf(root)),
    ],
  })
}

/**
 * Certifies one root of a tenant by another of its roots (RFC 9810 §4.4: newWithOld, oldWithNew). Name, key and key
 * identifier are those of the subject. So a verifier that knows only the issuer accepts certificates of the subject. It
 * ends no later than either. Throws like `createIssuingCertificate`.
 */
export async function createCrossCertificate(
  issuerSigner: Signer,
  issuerCertificate: string | Uint8Array,
  subjectCertificate: string | Uint8Array,
  fields: Dates & { serial: Uint8Array },
): Promise<CertificateFiles> {
  const issuer = readIssuer(issuerSigner, issuerCertificate, 'ca-root')
  const subject = readCertificate(subjectCertificate)
  if (readName(issuer.subject).organization !== readName(subject.subject).organization)
    refuse('wrong_context', 'the two roots belong to different tenants')
  requireWithin(fields, issuer)
  requireWithin(fields, subject)
  return signCertificate(issuerSigner, {
    ...fields,
    issuer: issuer.subject,
    subject: subject.subject,
    spki: subject.spki,
    extensions: [
      basicConstraints({ ca: true }),
      keyUsage(rootUsages),
      subjectKeyIdentifier(subjectKeyOf(subject)),
      authorityKeyIdentifier(subjectKeyOf(issuer)),
    ],
  })
}
