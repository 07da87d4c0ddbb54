import type { DeviceArchitecture, EnrollmentMethod } from '@holdfast/contract/vocabulary'
import type { Generated } from 'kysely'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, Json, TextArray } from './columns.ts'

/**
 * Source of a lock on a device, other than its user: the device, a group of the device, or all devices of the tenant.
 */
export type LockedBy = 'device' | 'group' | 'tenant'
/** State of a device's user. `group_locked`: a group of the user is locked. */
export type UserState = 'active' | 'suspended' | 'locked' | 'group_locked' | 'deleted'
/** Derived from a device, its user and locks. */
export type EffectiveStatus = DeviceStatus | 'locked' | 'user_suspended' | 'user_deleted' | 'expired'
export type DeviceStatus = 'pending' | 'active' | 'suspended' | 'revoked'
/** Derived from a device's sessions and its last-seen time. */
export type Presence = 'online' | 'offline' | 'never'
export type PostureVerdict = 'compliant' | 'non_compliant' | 'unknown'

export type DevicesTables = {
  devices: {
    tenant_id: TenantId
    device_id: string
    user_id: string | null
    name: string
    platform: string
    os_version: string | null
    client_version: string | null
    arch: DeviceArchitecture | null
    serial: string | null
    tags: TextArray
    group_ids: TextArray
    status: DeviceStatus
    channel: Default<'auto' | 'canary' | 'stable'>
    jkt: string | null
    public_jwk: Json<object> | null
    wireguard_public_key: string | null
    previous_wireguard_public_key: string | null
    previous_wireguard_until: Date | null
    address_number: number
    generation: Default<number>
    previous_generation_until: Date | null
    previous_jkt: string | null
    credential_expires_at: Date
    credential_renew_after: Date
    enrolled_method: EnrollmentMethod
    token_id: string | null
    provider_id: string | null
    ephemeral_seconds: number | null
    enrolled_at: Default<Date>
    updated_at: Default<Date>
    revoked_at: Date | null
    name_key: Derived<string>
    client_version_key: Derived<string>
  }
  device_tags: { tenant_id: TenantId; tag: string; device_id: string }
  device_groups: { tenant_id: TenantId; group_id: string; device_id: string }
  free_addresses: { tenant_id: TenantId; address_number: number; released_at: Generated<Date> }
  device_activity: {
    tenant_id: TenantId
    device_id: string
    last_seen_at: Date | null
    applied_digest: string | null
    applied_at: Date | null
    /** The newest trust set that the device has fetched. */
    trust_version: number | null
    seen_key: Derived<Date>
  }
  device_postures: {
    tenant_id: TenantId
    device_id: string
    facts: Json<Record<string, unknown>>
    facts_digest: string
    verdict: PostureVerdict
    reported_at: Date
    told_at: Date | null
    told_until: Date | null
  }
  proofs_seen: { proof: Buffer; expires_at: Date }
}
