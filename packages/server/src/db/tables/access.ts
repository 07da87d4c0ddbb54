import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, TextArray, UuidArray } from './columns.ts'

export type AccessTables = {
  api_keys: {
    tenant_id: TenantId
    key_id: string
    lookup: string
    secret_digest: Buffer
    secret_digest_version: number
    hint: string
    name: string
    role: string
    allowed_cidrs: TextArray
    created_by: string | null
    created_at: Default<Date>
    expires_at: Date | null
    revoked_at: Date | null
    expired_at: Date | null
    owner_tenant_id: TenantId | null
    owner_user_id: string | null
    directory: string | null
    stands_for: UuidArray
  }
  api_key_activity: { tenant_id: TenantId; key_id: string; last_used_at: Date | null; last_used_key: Derived<Date> }
}
