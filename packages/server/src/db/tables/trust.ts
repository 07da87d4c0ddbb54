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
}
