import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'

/**
 * Where certificates say that who verifies them finds the list, the responder and the certificate of their issuer (RFC
 * 5280 §4.2.1.13, §4.2.2.1). Both ids stand in it, so that whoever is asked need not look for the tenant.
 */
export function addressesOf(url: string, tenant: TenantId, signerId: string) {
  const name = `${encodeId('tenant', tenant)}/${encodeId('signer', signerId)}`
  return { crlUrl: `${url}/crl/${name}.crl`, ocspUrl: `${url}/ocsp/${name}`, issuerUrl: `${url}/ca/${name}.cer` }
}
