import { hash } from 'node:crypto'
import {
  CryptoError,
  type PublicJwk,
  readCertificateRequest,
  type SpcIssuer,
  spcIssuer,
  thumbprint,
} from '@holdfast/crypto'
import type { TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import { minute, second } from '../../../kernel/time.ts'
import type { FleetDevice } from '../../devices/index.ts'
import { type Authority, backdated, chainOf, type Keyring, signedLifetimes } from '../../trust/index.ts'
import type { CertificatesDeps } from '../deps.ts'
import type { SpcRow } from './spcs.queries.ts'

/** Shorter certificates are not issued. */
const shortest = minute

/** The row to be inserted. */
export type Prepared = { row: SpcRow; thumbprint: string; chain: string[] }

const csrProblems: Partial<Record<CryptoError['code'], string>> = {
  bad_algorithm: 'must have a P-256, P-384 or Ed25519 key',
  bad_signature: 'must be signed with its own key',
}

/** Reads the key of a certificate request and checks the proof of possession. */
export function keyOfRequest(csr: string): { publicJwk: PublicJwk; spkiSha256: string } {
  try {
    return readCertificateRequest(csr)
  } catch (e) {
    if (!(e instanceof CryptoError)) throw e
    return failField('csr', csrProblems[e.code] ?? 'is not a certificate request (PKCS#10)')
  }
}

const bytesOf = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex')

/**
 * SPIFFE trust domain of this deployment (SPIFFE-ID §2.1): letters, digits, dots and dashes. IPv6 addresses are
 * rewritten.
 */
export const trustDomainOf = (publicUrl: string): string =>
  new URL(publicUrl).hostname.replaceAll(/[[\]]/g, '').replaceAll(':', '-')

/** Signs a certificate and builds its row, before the transaction that stores it. */
export function createPrepare({ trust, policyOf, publicUrl, pkiUrl, oidArc, now }: CertificatesDeps) {
  const trustDomain = trustDomainOf(publicUrl)
  const issuers = new WeakMap<Authority, SpcIssuer>()
  function issuerOf(tenant: TenantId, authority: Authority): SpcIssuer {
    const known = issuers.get(authority)
    if (known) return known
    const { signer, certificate, signerId } = authority
    const addresses = pkiUrl === undefined ? {} : pkiAddressesOf(pkiUrl, tenant, signerId)
    const issuer = spcIssuer(signer, certificate, { trustDomain, oidArc, ...addresses })
    issuers.set(authority, issuer)
    return issuer
  }
  const activeOf = ({ issuing }: Keyring): Authority => {
    const [authority] = issuing
    if (authority?.state !== 'active') throw new Error('the tenant has no active issuing CA')
    return authority
  }

  return async (
    tenant: TenantId,
    device: FleetDevice,
    { publicJwk, spkiSha256 }: ReturnType<typeof keyOfRequest>,
    replaces: string | null,
  ): Promise<Prepared> => {
    const keyring = await trust.keyring(tenant)
    const key = thumbprint(publicJwk)
    if (keyring.verifiers.has(key)) failField('csr', 'its key belongs to another device: generate a new key')
    const authority = activeOf(keyring)
    const variant = await policyOf(tenant, device.deviceId)
    const at = now()
    const start = Math.floor(at.getTime() / second) * second
    const end = Math.min(
      start + signedLifetimes.certificate,
      device.credentialUntil,
      authority.x509.validToDate.getTime(),
    )
    if (end - start < shortest) fail('validation_error', "the device's credential is about to expire: renew it first")
    const notBefore = new Date(Math.max(start - backdated, authority.x509.validFromDate.getTime()))
    const notAfter = new Date(end)
    const spc_id = newUuid()
    const policy = variant && {
      bundleVersion: variant.version,
      channel: variant.channel,
      digest: variant.digest.slice('sha256:'.length),
    }
    const { der, pem } = await issuerOf(tenant, authority).issue({
      serial: bytesOf(spc_id),
      deviceId: encodeId('device', device.deviceId),
      publicJwk,
      notBefore,
      notAfter,
      ...(policy && { policy }),
    })
    const row: SpcRow = {
      tenant_id: tenant,
      spc_id,
      device_id: device.deviceId,
      user_id: device.userId,
      issuer_id: authority.signerId,
      status: 'active',
      certificate: pem,
      spki_sha256: spkiSha256,
      fingerprint_sha256: hash('sha256', der, 'hex'),
      not_before: notBefore,
      not_after: notAfter,
      renew_after: new Date(start + ((end - start) * 2) / 3),
      policy_channel: variant?.channel ?? null,
      policy_version: variant?.version ?? null,
      policy_digest: variant?.digest ?? null,
      replaces,
      revoke_after: null,
      revoked_at: null,
      revocation_reason: null,
      issued_at: at,
    }
    return { row, thumbprint: key, chain: chainOf(keyring, authority) }
  }
}

/**
 * Addresses in a certificate of the CRL, the OCSP responder and the certificate of its issuer (RFC 5280 §4.2.1.13,
 * §4.2.2.1). They contain both IDs, so that the server need not search for the tenant.
 */
function pkiAddressesOf(url: string, tenant: TenantId, signerId: string) {
  const name = `${encodeId('tenant', tenant)}/${encodeId('signer', signerId)}`
  return { crlUrl: `${url}/crl/${name}.crl`, ocspUrl: `${url}/ocsp/${name}`, issuerUrl: `${url}/ca/${name}.cer` }
}
