import type { AttemptOutcome, AttemptReason } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, TextArray } from './columns.ts'

export type EnrollmentTables = {
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
