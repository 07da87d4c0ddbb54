import { hash } from 'node:crypto'
import { refuse } from '../errors.ts'
import { type Certificate, readCertificate } from './certificate.ts'
import {
  type Extension,
  keyUsages,
  readAuthorityKeyIdentifier,
  readBasicConstraints,
  readExtendedKeyUsage,
  readKeyUsage,
  readUriAltName,
  requireKnown,
} from './extensions.ts'
import { subjectKeyOf } from './issuer.ts'
import { readName } from './name.ts'
import { oids } from './oids.ts'
import { importSpki, isSignedBy } from './signed.ts'
import { defaultOidArc, policyOid, readPolicy, type SpcPolicy } from './spc-policy.ts'
import { readSpiffeId } from './spiffe-id.ts'

/** The fields in the certificate of a device. Serial, identifier and hashes are hex, the subject is RFC 4514. */
export type Spc = {
  serial: string
  issuerKeyIdentifier: string
  spiffeId: string
  tenantId: string
  deviceId: string
  subject: string
  notBefore: Date
  notAfter: Date
  spkiSha256: string
  fingerprintSha256: string
  policy?: SpcPolicy
  /** The parsed certificate, for verifiers. */
  certificate: Certificate
}

/**
 * Reads the certificate of a device (PEM or DER, at most 8 KiB). It checks neither the signature nor the validity
 * period. Throws `malformed` for a certificate without the form of those issued here, and `bad_algorithm`.
 */
export function readSpc(certificate: string | Uint8Array, { oidArc = defaultOidArc } = {}): Spc {
  const read = readCertificate(certificate)
  const { extensions } = read
  requireKnown(extensions, [oids.basicConstraints, oids.keyUsage])
  const the = (type: string): Extension =>
    extensions.get(type) ?? refuse('malformed', 'the SPC lacks a required extension')
  if (readBasicConstraints(the(oids.basicConstraints)).ca)
    refuse('malformed', 'the certificate is that of a CA, not an SPC')
  if (readKeyUsage(the(oids.keyUsage)) !== keyUsages.digitalSignature)
    refuse('malformed', 'the key usage of the SPC is not digitalSignature only')
  if (!readExtendedKeyUsage(the(oids.extKeyUsage)).includes(oids.clientAuth))
    refuse('malformed', 'the extended key usage of the SPC lacks clientAuth')
  const issuerKey = readAuthorityKeyIdentifier(the(oids.authorityKeyIdentifier))
  if (!issuerKey) refuse('malformed', 'the SPC does not name the key of its issuer')
  const spiffeId = readUriAltName(the(oids.subjectAltName))
  const { tenantId, deviceId } = readSpiffeId(spiffeId)
  const subject = readName(read.subject)
  if (subject.organization !== tenantId || subject.commonName !== deviceId)
    refuse('malformed', 'the subject of the SPC does not match its SPIFFE ID')
  const policy = extensions.get(policyOid(oidArc))
  return {
    serial: read.serial,
    issuerKeyIdentifier: issuerKey.toString('hex'),
    spiffeId,
    tenantId,
    deviceId,
    subject: `CN=${deviceId},O=${tenantId}`,
    notBefore: read.notBefore,
    notAfter: read.notAfter,
    spkiSha256: hash('sha256', read.spki, 'hex'),
    fingerprintSha256: hash('sha256', read.der, 'hex'),
    ...(policy && { policy: readPolicy(policy) }),
    certificate: read,
  }
}

/**
 * Returns a function that throws unless this issuing CA signed an SPC: `wrong_issuer` if it names another one,
 * `bad_signature`. The key of the CA is imported once. It does not check the validity period.
 */
export function spcVerifier(issuingCertificate: string | Uint8Array): (spc: Spc) => void {
  const issuing = readCertificate(issuingCertificate)
  const publicKey = importSpki(issuing.spki)
  const keyIdentifier = subjectKeyOf(issuing).toString('hex')
  const tenantId = readName(issuing.subject).organization
  return (spc) => {
    const { certificate } = spc
    if (spc.issuerKeyIdentifier !== keyIdentifier || !certificate.issuer.equals(issuing.subject))
      refuse('wrong_issuer', 'the SPC names another issuer')
    if (spc.tenantId !== tenantId) refuse('wrong_context', 'the SPC and its issuer belong to different tenants')
    if (!isSignedBy(certificate.signed, publicKey)) refuse('bad_signature', 'the SPC is not signed by its issuer')
  }
}
