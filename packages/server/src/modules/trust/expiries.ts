import { certificateInfo } from '@holdfast/crypto'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Trusted } from './trust.ts'

/** The ends of the CA certificates in use and of the newest trust set, which is issued anew first where that is due. */
export const createExpiries = (trusted: Trusted) => async (tenant: TenantId) => {
  const { keyring, set } = await trusted.trusted(tenant)
  const certificates = [...keyring.roots, ...keyring.issuing].map(({ signerId, certificate }) => {
    const { subject, not_before, not_after } = certificateInfo(certificate)
    const id = encodeId('signer', signerId)
    return { type: 'certificate', id, name: subject, since: new Date(not_before), expiresAt: new Date(not_after) }
  })
  const [since, expiresAt] = [new Date(set.issued_at), new Date(set.expires_at)]
  return [
    ...certificates,
    { type: 'trust_set', id: `ta-${set.version}`, name: `version ${set.version}`, since, expiresAt },
  ]
}
