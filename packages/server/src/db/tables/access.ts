import type { AttemptOutcome, AttemptReason } from '@holdfast/contract/vocabulary'
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
  enrollment_tokens: {
    tenant_id: TenantId
    token_id: string
    lookup: string
    secret_digest: Buffer
    secret_digest_version: number
    hint: string
    name: Default<string>
    kind: 'enroll' | 'bootstrap'
    max_uses: number
    uses: Default<number>
    expires_at: Date
    user_id: string | null
    group_ids: TextArray
    tags: TextArray
    platforms: TextArray
    allowed_cidrs: TextArray
    requires_approval: Default<boolean>
    ephemeral_seconds: number | null
    max_devices_per_user: number | null
    created_by: string | null
    created_at: Default<Date>
    last_used_at: Date | null
    revoked_at: Date | null
    name_key: Derived<string>
    is_spent: Derived<boolean>
  }
  enrollment_attempts: {
    tenant_id: TenantId
    token_id: string
    refused: number
    last_at: Date
    outcome: AttemptOutcome
    reason: AttemptReason | null
    source_ip: string
    platform: string | null
  }
}
