import type { DeviceCodeUse, IdentityProviderKind, nameIdFormats, Role } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, Json } from './columns.ts'

export type OidcSettings = {
  issuer: string
  client_id: string
  scopes: string[]
  mobile_client_ids: string[]
  device_code: DeviceCodeUse
}
/** A SAML identity provider, from its metadata or set by hand. Certificates are PEM. */
type SamlIdp = { entity_id: string; sso_url: string; certificates: string[] }
type SamlSettings = {
  metadata_url: string | null
  idp: SamlIdp | null
  name_id_format: (typeof nameIdFormats)[number]
  signed_response: boolean
}
/** Times are in the format of the API. */
type SamlFound = SamlIdp & { valid_until: string | null; read_at: string }
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
    /** Null for a SAML provider. `saml` is null for an OpenID Connect provider. */
    oidc: Json<OidcSettings> | null
    saml: Json<SamlSettings> | null
    /** Data read from metadata_url. */
    saml_found: Json<SamlFound> | null
    saml_checked_at: Date | null
    saml_problem: string | null
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
  /** Requests of a browser or of an enrolling device. The columns of the other kind are null. */
  saml_requests: {
    tenant_id: TenantId
    state_digest: Buffer
    provider_id: string
    authn_request_id: string
    browser_digest: Buffer | null
    next_path: string | null
    challenge_digest: Buffer | null
    jkt: string | null
    redirect_uri: string | null
    expires_at: Date
  }
  saml_assertions: { tenant_id: TenantId; provider_id: string; assertion_id: string; good_until: Date }
  logout_tokens: {
    tenant_id: TenantId
    provider_id: string
    jti_digest: Buffer
    subject: string | null
    sid: string | null
    issued_at: Date
    good_until: Date
  }
  device_grants: {
    tenant_id: TenantId
    ticket: Buffer
    jkt: string
    provider_id: string
    source: string
    state: 'starting' | 'pending' | 'authorized' | 'ended'
    end_reason: string | null
    secret_jwe: string | null
    interval_seconds: number
    next_poll_at: Date
    poller: string | null
    expires_at: Date
  }
}
