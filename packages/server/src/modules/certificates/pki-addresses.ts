import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'

/**
 * Addresses in a certificate of the CRL, the OCSP responder and the certificate of its issuer (RFC 5280 §4.2.1.13,
 * §4.2.2.1). They contain both IDs, so that the server need not search for the tenant.
 */
export function pkiAddressesOf(url: string, tenant: TenantId, signerId: string) {
  const name = `${encodeId('tenant', tenant)}/${encodeId('signer', signerId)}`
  return { crlUrl: `${url}/crl/${name}.crl`, ocspUrl: `${url}/ocsp/${name}`, issuerUrl: `${url}/ca/${name}.cer` }
}
