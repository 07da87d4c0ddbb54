import type { TenantId } from '../../kernel/actor.ts'
import type { Default } from './columns.ts'

export type CertificatesTables = {
  spcs: {
    tenant_id: TenantId
    spc_id: string
    device_id: string
    user_id: string | null
    issuer_id: string
    status: 'active' | 'superseded' | 'revoked'
    certificate: string
    spki_sha256: string
    fingerprint_sha256: string
    not_before: Date
    not_after: Date
    renew_after: Date
    policy_channel: string | null
    policy_version: number | null
    policy_digest: string | null
    replaces: string | null
    revoke_after: Date | null
    revoked_at: Date | null
    revocation_reason: string | null
    issued_at: Date
  }
  crls: {
    tenant_id: TenantId
    issuer_id: string
    number: Default<number>
    revision: Default<number>
    issued_revision: Default<number>
    this_update: Date | null
    next_update: Date | null
    der: Buffer | null
  }
}
