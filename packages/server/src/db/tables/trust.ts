import type { SignerProvider, SignerState } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Json, TextArray } from './columns.ts'

export type TrustTables = {
  signing_keys: {
    tenant_id: TenantId
    signer_id: string
    kid: string
    purpose: string
    alg: string
    state: SignerState
    provider: Default<SignerProvider>
    public_jwk: Json<Record<string, string>>
    /** Null for a retired key, and for a key in a token. */
    private_jwe: string | null
    certificate: string | null
    created_at: Default<Date>
    activated_at: Date | null
    retire_after: Date | null
    retired_at: Date | null
  }
  /** Keys in a token that no row of signing_keys needs. Triggers of that table also write here. */
  unneeded_token_keys: { kid: string; destroy_after: Date }
  trust_sets: {
    tenant_id: TenantId
    version: number
    document: Json<unknown>
    expires_at: Date
    /** Ids of the keys that a set lists: those that sign trust sets, and those of the anchors. */
    trust_kids: TextArray
    anchor_kids: TextArray
    created_at: Default<Date>
  }
  cross_certificates: {
    tenant_id: TenantId
    issuer_id: string
    subject_id: string
    certificate: string
    not_after: Date
    created_at: Date
  }
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
