import type { IdentityProviderKind, Role } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, Json } from './columns.ts'

type OidcSettings = {
  issuer: string
  client_id: string
  scopes: string[]
  mobile_client_ids: string[]
}
type ClaimNames = { username: string; email: string; display_name: string; groups: string }
type RoleMapping = { value: string; role: Role }

export type FederationTables = {
  identity_providers: {
    tenant_id: TenantId
    provider_id: string
    kind: IdentityProviderKind
    name: string
    name_key: Derived<string>
    enabled: boolean
    sign_in: boolean
    enrollment: boolean
    requires_approval: Default<boolean>
    max_devices_per_user: number | null
    provisioning: 'none' | 'create'
    claims: Json<ClaimNames>
    role_mappings: Json<RoleMapping[]>
    oidc: Json<OidcSettings>
    client_secret_jwe: string | null
    created_at: Date
    updated_at: Date
    deleted_at: Date | null
  }
  identity_provider_groups: { tenant_id: TenantId; provider_id: string; value: string; group_id: string }
  user_identities: {
    tenant_id: TenantId
    provider_id: string
    issuer: string
    subject: string
    user_id: string
    provisioned: boolean
    linked_at: Date
    last_login_at: Date | null
  }
  sign_in_requests: {
    tenant_id: TenantId
    state_digest: Buffer
    provider_id: string
    browser_digest: Buffer
    nonce: string
    verifier_jwe: string
    next_path: string | null
    expires_at: Date
  }
}
