import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Json } from './columns.ts'

export type TrustTables = {
  signing_keys: {
    tenant_id: TenantId
    signer_id: string
    kid: string
    purpose: string
    alg: string
    state: 'pending' | 'active' | 'retiring' | 'retired' | 'compromised'
    public_jwk: Json<Record<string, string>>
    private_jwe: string
    certificate: string | null
    created_at: Default<Date>
  }
  trust_sets: {
    tenant_id: TenantId
    version: number
    document: Json<unknown>
    expires_at: Date
    created_at: Default<Date>
  }
}
