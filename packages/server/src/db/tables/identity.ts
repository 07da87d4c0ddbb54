import type { Generated } from 'kysely'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, UuidArray } from './columns.ts'

export type IdentityTables = {
  users: {
    tenant_id: TenantId
    user_id: string
    kind: Default<'person' | 'service'>
    username: string
    email: string | null
    display_name: Default<string>
    status: Default<'active' | 'suspended'>
    source: Default<'local' | 'directory' | 'sso'>
    password_phc: string | null
    failed_logins: Default<number>
    locked_until: Date | null
    created_at: Default<Date>
    updated_at: Default<Date>
    last_login_at: Date | null
    mfa_at: Date | null
    deleted_at: Date | null
    password_must_change: Default<boolean>
    username_key: Derived<string>
    email_key: Derived<string | null>
    display_name_key: Derived<string>
    last_login_key: Derived<Date>
    password_expires_at: Date | null
    directory_id: string | null
    external_id: string | null
    suspended_by_directory: Default<boolean>
    absent_since: Date | null
    break_glass: Default<boolean>
    directory_attributes: object | null
    stands_for: UuidArray
  }
  user_roles: {
    tenant_id: TenantId
    user_id: string
    role: string
    granted_at: Default<Date>
    grant_id: Generated<string>
    granted_by: string | null
  }
  user_totp: {
    tenant_id: TenantId
    user_id: string
    seed_jwe: string
    factor_id: Generated<string>
    expires_at: Date
    enrolled_at: Date | null
    last_step: Default<number>
  }
  credential_setters: { tenant_id: string; user_id: string; set_by: string; set_at: Date }
  recovery_codes: {
    tenant_id: TenantId
    user_id: string
    code_digest: Buffer
    code_digest_version: number
    used_at: Date | null
  }
  groups: {
    tenant_id: TenantId
    group_id: string
    name: string
    description: Default<string>
    source: Default<'local' | 'directory'>
    created_at: Default<Date>
    updated_at: Default<Date>
    member_count: Default<number>
    name_key: Derived<string>
    directory_id: string | null
    external_id: string | null
    absent_since: Date | null
  }
  deleted_groups: {
    tenant_id: TenantId
    group_id: string
    name: string
    description: string
    source: 'local' | 'directory'
    created_at: Date
    deleted_at: Date
  }
  group_members: { tenant_id: TenantId; group_id: string; user_id: string }
  admin_sessions: {
    tenant_id: TenantId
    session_id: string
    user_id: string
    secret_digest: Buffer
    secret_digest_version: number
    auth_method: string
    source_ip: string | null
    user_agent: string | null
    started_at: Date
    last_seen_at: Date
    idle_seconds: number
    expires_at: Date
    ended_at: Date | null
    end_reason: 'timeout' | 'manual' | null
    stepped_up_at: Date | null
    /** The identity provider that opened the session. */
    provider_id: string | null
    /** The account at the provider, and the provider's session id. */
    provider_subject: string | null
    provider_sid: string | null
  }
  login_failures: { source: string; window_start: Date; failures: number }
}
