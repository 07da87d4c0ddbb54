import { type PublicJwk, publicSpki } from '../jwk.ts'
import type { Signer } from '../signer.ts'
import { type CertificateFiles, certificateFiles, tbsCertificate } from './certificate.ts'
import { sequence } from './der-write.ts'
import {
  authorityInfoAccess,
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoint,
  extendedKeyUsage,
  keyIdentifierOf,
  keyUsage,
  keyUsages,
  subjectKeyIdentifier,
  uriAltName,
} from './extensions.ts'
import { readIssuer, requireWithin, subjectKeyOf } from './issuer.ts'
import { commonName, organizationName, readName } from './name.ts'
import { oids } from './oids.ts'
import { sign, signChecked } from './signed.ts'
import { defaultOidArc, policyExtension, policyOid, type SpcPolicy } from './spc-policy.ts'
import { spiffeId } from './spiffe-id.ts'

/** `oidArc` is the arc of the policy extension. The URLs are written if they are given. */
export type SpcIssuerOptions = {
  trustDomain: string
  oidArc?: string
  crlUrl?: string
  ocspUrl?: string
  issuerUrl?: string
}
export type SpcFields = {
  serial: Uint8Array
  deviceId: string
  publicJwk: PublicJwk
  notBefore: Date
  notAfter: Date
  policy?: SpcPolicy
}
export type SpcIssuer = { issue(fields: SpcFields): Promise<CertificateFiles> }

/**
 * Returns an issuer of the certificates of devices (SPC) in the issuing CA's tenant; their common parts are prepared
 * here, once.
 * Throws `wrong_type` unless the signer is a `ca-issuing` key, `unknown_key` if it is not that of the certificate,
 * `malformed`, and RangeError for an arc that is no object identifier.
 * `issue` throws `not_yet_valid` or `expired` for one that would begin before its CA or end after it, `malformed` for
 * unusable fields, and, at the first one, `bad_signature` if the key store signs with another key than it announced.
 */
export function spcIssuer(
  signer: Signer,
  issuingCertificate: string | Uint8Array,
  options: SpcIssuerOptions,
): SpcIssuer {
  const issuer = readIssuer(signer, issuingCertificate, 'ca-issuing')
  const tenantId = readName(issuer.subject).organization
  const organization = organizationName(tenantId)
  const policyType = policyOid(options.oidArc ?? defaultOidArc)
  const sameExtensions = Buffer.concat([
    basicConstraints({ ca: false }),
    keyUsage(keyUsages.digitalSignature),
    extendedKeyUsage(oids.clientAuth, oids.ipsecIKE),
    authorityKeyIdentifier(subjectKeyOf(issuer)),
    ...pointers(options),
  ])

  function tbsOf({ deviceId, publicJwk, policy, ...fields }: SpcFields): Buffer {
    requireWithin(fields, issuer)
    const spki = publicSpki(publicJwk)
    return tbsCertificate({
      ...fields,
      alg: signer.alg,
      issuer: issuer.subject,
      subject: sequence(organization, commonName(deviceId)),
      spki,
      extensions: [
        sameExtensions,
        subjectKeyIdentifier(keyIdentifierOf(spki)),
        uriAltName(spiffeId(options.trustDomain, tenantId, deviceId)),
        ...(policy ? [policyExtension(policyType, policy)] : []),
      ],
    })
  }

  let isProven = false
  return {
    async issue(fields) {
      const tbs = tbsOf(fields)
      const signed = isProven ? await sign(signer, tbs) : await signChecked(signer, tbs)
      isProven = true
      return certificateFiles(signed)
    },
  }
}

function pointers({ crlUrl, ocspUrl, issuerUrl }: SpcIssuerOptions): Buffer[] {
  const methods = [
    ...(ocspUrl ? [[oids.ocsp, ocspUrl] as const] : []),
    ...(issuerUrl ? [[oids.caIssuers, issuerUrl] as const] : []),
  ]
  return [
    ...(crlUrl ? [crlDistributionPoint(crlUrl)] : []),
    ...(methods.length > 0 ? [authorityInfoAccess(methods)] : []),
  ]
}
