import { hash, randomBytes, X509Certificate } from 'node:crypto'
import { AsnConvert } from '@peculiar/asn1-schema'
import {
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_keyUsage,
  id_ce_subjectKeyIdentifier,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  SubjectKeyIdentifier,
} from '@peculiar/asn1-x509'
import { refuse } from './errors.ts'
import { importPublic, type PublicJwk } from './jwk.ts'
import type { Purpose, Signer } from './signer.ts'
import {
  buildExtension,
  buildName,
  type CertificateFiles,
  keyIdentifier,
  organizationOf,
  signCertificate,
  subjectPublicKeyInfo,
} from './x509-sign.ts'

/**
 * The tenant becomes the O of the subject; the CN defaults to the role and the start of the serial, so that names stay
 * distinct.
 */
export type CaCertificateFields = {
  tenantId: string
  serial: Uint8Array
  notBefore: Date
  notAfter: Date
  commonName?: string
}

/** Hex is lower case without separators, times are RFC 3339, the subject is RFC 4514 (most specific first). */
export type CertificateInfo = {
  subject: string
  spki_sha256: string
  not_before: string
  not_after: string
  serial: string
}

/** 16 random bytes that read as a positive INTEGER of full length (RFC 5280 §4.1.2.2). */
export function mintSerial(): Buffer {
  const serial = randomBytes(16)
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  return serial
}

function requirePurpose(signer: Signer, purpose: Purpose): void {
  if (signer.purpose !== purpose) refuse('wrong_type', `a ${signer.purpose} key can't do the work of a ${purpose} key`)
}

function caSubject(role: string, { tenantId, serial, commonName }: CaCertificateFields) {
  return buildName(tenantId, commonName ?? `${role} ${Buffer.from(serial.subarray(0, 4)).toString('hex')}`)
}

const basicConstraints = (constraints: { pathLenConstraint?: number }) =>
  buildExtension(id_ce_basicConstraints, true, new BasicConstraints({ cA: true, ...constraints }))

const keyUsage = (flags: number) => buildExtension(id_ce_keyUsage, true, new KeyUsage(flags))

const subjectKey = (id: Uint8Array) => buildExtension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(id))

const authorityKey = (id: Uint8Array) =>
  buildExtension(
    id_ce_authorityKeyIdentifier,
    false,
    new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(id) }),
  )

/**
 * A tenant's self-signed root (RFC 5280 §4.2). It has no path length: one would break verification through a cross
 * certificate during rotation. Throws `wrong_type` unless the signer is a P-384 `ca-root` key, `malformed` for unusable
 * fields.
 */
export async function createRootCertificate(signer: Signer, fields: CaCertificateFields): Promise<CertificateFiles> {
  requirePurpose(signer, 'ca-root')
  if (signer.alg !== 'ES384') refuse('bad_algorithm', 'a root key is on P-384')
  const subject = caSubject('Root CA', fields)
  const publicKey = subjectPublicKeyInfo(signer.publicJwk)
  const id = keyIdentifier(publicKey)
  return signCertificate(signer, {
    ...fields,
    issuer: subject,
    subject,
    publicKey,
    extensions: [
      basicConstraints({}),
      keyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign),
      subjectKey(id),
      authorityKey(id),
    ],
  })
}

/**
 * A tenant's issuing CA under its root: path length 0, and digitalSignature because it answers OCSP itself. Throws
 * `unknown_key` when the signer is not the root's key, `wrong_context` for a root of another tenant, `not_yet_valid` or
 * `expired` when it would begin before or outlive its root.
 */
export async function createIssuingCertificate(
  rootSigner: Signer,
  rootCertificate: string | Buffer,
  issuingPublicJwk: PublicJwk,
  fields: CaCertificateFields,
): Promise<CertificateFiles> {
  requirePurpose(rootSigner, 'ca-root')
  const root = new X509Certificate(rootCertificate)
  if (!root.publicKey.equals(importPublic(rootSigner.publicJwk)))
    refuse('unknown_key', "the signer is not the root's key")
  const rootTbs = AsnConvert.parse(root.raw, Certificate).tbsCertificate
  if (organizationOf(rootTbs.subject) !== fields.tenantId) refuse('wrong_context', 'the root is of another tenant')
  if (Math.floor(fields.notBefore.getTime() / 1000) * 1000 < rootTbs.validity.notBefore.getTime().getTime()) {
    refuse('not_yet_valid', 'an issuing CA begins no earlier than its root')
  }
  if (fields.notAfter.getTime() >= rootTbs.validity.notAfter.getTime().getTime() + 1000) {
    refuse('expired', 'an issuing CA ends no later than its root')
  }
  const publicKey = subjectPublicKeyInfo(issuingPublicJwk)
  return signCertificate(rootSigner, {
    ...fields,
    issuer: rootTbs.subject,
    subject: caSubject('Issuing CA', fields),
    publicKey,
    extensions: [
      basicConstraints({ pathLenConstraint: 0 }),
      keyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature),
      subjectKey(keyIdentifier(publicKey)),
      authorityKey(keyIdentifier(rootTbs.subjectPublicKeyInfo)),
    ],
  })
}

/** What the listings show of a certificate (PEM or DER). Throws `malformed`. */
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
