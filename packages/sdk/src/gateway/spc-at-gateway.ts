import { readCertificate } from '@holdfast/crypto/x509/certificate'
import { verifyChain } from '@holdfast/crypto/x509/chain'
import { readSpc } from '@holdfast/crypto/x509/spc-read'
import { reject } from '../errors.ts'
import { verified } from '../verify/signed.ts'
import type { TrustStore } from '../verify/trust-store.ts'
import type { Crls } from './crls.ts'

/** A valid certificate and its device. The policy decides whether that device is a peer. */
export type SpcAtGateway = {
  deviceId: string
  serial: string
  spiffeId: string
  fingerprintSha256: string
  until: Date
}

type CheckOptions = { trust: TrustStore; crls: Crls; tenantId: string; now: Date }

/**
 * Verifies a device's certificate (PEM or DER) offline, after TLS or IKE has proved possession of its key: tenant,
 * chain to an anchor, validity period, and that no authority in the chain has revoked a certificate of it. Throws
 * `VerificationError`: `malformed`, `bad_algorithm`, `wrong_tenant`, `wrong_issuer`, `wrong_context`, `bad_signature`,
 * `expired`, `not_yet_valid`, `revoked`, `no_crl`, `crl_expired`, `trust_expired`.
 */
export function checkSpcAtGateway(
  certificate: string | Uint8Array,
  { trust, crls, tenantId, now }: CheckOptions,
): SpcAtGateway {
  const spc = verified(() => readSpc(certificate))
  if (spc.tenantId !== tenantId) reject('wrong_tenant', 'the certificate belongs to another tenant')
  const path = verified(() => verifyChain(certificate, { ...trust.authorities(now), at: now }))
  for (const [n, issuer] of path.slice(1).entries()) {
    const list =
      crls.of(issuer) ?? reject('no_crl', 'the revocation list of an authority in the certificate chain is missing')
    if (now >= list.nextUpdate)
      reject('crl_expired', 'the revocation list of an authority in the certificate chain has expired')
    const entry = list.revoked.get(verified(() => readCertificate(path[n]!)).serial)
    if (entry) reject('revoked', `revoked: ${entry.reason}`)
  }
  const { deviceId, serial, spiffeId, fingerprintSha256, notAfter } = spc
  return { deviceId, serial, spiffeId, fingerprintSha256, until: notAfter }
}
