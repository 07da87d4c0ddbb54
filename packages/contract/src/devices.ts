import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Platform } from './enrollment-fields.ts'
import {
  Ago,
  Closed,
  Count,
  CountedList,
  countQuery,
  Id,
  Ids,
  ListQuery,
  Name,
  NameOf,
  NamesOf,
  Nullable,
  OneOf,
  Prefix,
  Reason,
  Tags,
  Time,
  WasChanged,
} from './schema.ts'
import { versionPattern } from './semver.ts'
import { DeviceArchitecture } from './updates.ts'
import { enrollmentMethods } from './vocabulary.ts'

export const deviceStatus = OneOf(['pending', 'active', 'suspended', 'revoked'])
export const effectiveStatuses = [
  'active',
  'pending',
  'suspended',
  'locked',
  'user_suspended',
  'user_deleted',
  'revoked',
  'expired',
] as const
export type EffectiveStatus = (typeof effectiveStatuses)[number]
export const EffectiveStatus = OneOf(effectiveStatuses, {
  title: 'EffectiveStatus',
  description:
    'Status of the device together with its user, locks and credential. `active`: the device has access. `expired`: the device did not renew its credential in time',
})
export const EffectiveStatusReason = Nullable(Type.String({ description: 'Reason, as a sentence; null while active' }))
export const channels = ['canary', 'stable'] as const
export const Channel = OneOf(channels)
const ChannelChoice = OneOf(['auto', 'canary', 'stable'])
export const PostureVerdict = OneOf(['compliant', 'non_compliant', 'unknown'])

/** A device counts as online if it was seen within this time, in seconds. */
export const onlineSeconds = 300
export const presences = ['online', 'offline', 'never'] as const
export const Presence = OneOf(presences, {
  title: 'Presence',
  description: `\`online\`: the device has an open VPN session, or was seen within ${onlineSeconds / 60} minutes. \`never\`: it was not seen since its enrollment`,
})
const DeviceSession = Closed(
  {
    session_id: Id('vpn_session'),
    gateway_id: Id('gateway'),
    gateway_name: NameOf('gateway'),
    pool_id: Id('gateway_pool'),
    pool_name: NameOf('pool'),
    started_at: Time,
  },
  { title: 'DeviceSession', description: 'Open VPN session of the device that started last' },
)

export const Device = Closed(
  {
    device_id: Id('device'),
    tenant_id: Id('tenant'),
    user_id: Nullable(Id('user')),
    user_name: NameOf('user (its username)'),
    name: Name,
    platform: Platform,
    arch: Nullable(DeviceArchitecture),
    os_version: Nullable(Type.String()),
    client_version: Nullable(Type.String()),
    serial: Nullable(Type.String()),
    tags: Type.Array(Type.String()),
    group_ids: Type.Array(Id('group'), {
      description: 'Groups that its enrollment token gave it, in addition to those of its user',
    }),
    group_names: NamesOf('groups'),
    status: deviceStatus,
    effective_status: EffectiveStatus,
    effective_status_reason: EffectiveStatusReason,
    channel: ChannelChoice,
    effective_channel: Channel,
    binding: OneOf(['dpop', 'none']),
    addresses: Closed({ ipv4: Nullable(Type.String()), ipv6: Nullable(Type.String()) }),
    wireguard_public_key: Nullable(Type.String()),
    posture: Closed(
      { verdict: PostureVerdict, reported_at: Nullable(Time) },
      { description: 'Result of its last posture report, by the policy in force now' },
    ),
    policy: Closed({
      digest: Nullable(Type.String()),
      applied_digest: Nullable(Type.String()),
      applied_at: Nullable(Time),
    }),
    enrolled_by: Closed({
      method: OneOf(enrollmentMethods),
      token_id: Nullable(Id('enrollment_token')),
      token_name: NameOf('enrollment token'),
      provider_id: Nullable(Id('identity_provider')),
      provider_name: NameOf('identity provider'),
    }),
    enrolled_at: Time,
    last_seen_at: Nullable(Time),
    presence: Presence,
    session: Nullable(DeviceSession),
    credential: Closed({ expires_at: Time, renew_after: Time }),
  },
  { title: 'Device' },
)

export const deviceFilters = {
  q: Prefix,
  status: Type.Optional(deviceStatus),
  effective_status: Type.Optional(EffectiveStatus),
  user_id: Type.Optional(Id('user')),
  group_id: Type.Optional(Id('group')),
  platform: Type.Optional(Platform),
  tag: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  token_id: Type.Optional(Id('enrollment_token')),
  provider_id: Type.Optional(Id('identity_provider')),
  posture: Type.Optional(
    OneOf(['compliant', 'non_compliant', 'unknown'], {
      description: 'Verdict of the last posture report, by the policy in force. `unknown`: there is no report',
    }),
  ),
  presence: Type.Optional(Presence),
  seen_within: Ago('Only devices that were seen at this time or later'),
  unseen_for: Ago('Only devices that were last seen before this time, or never'),
  client_version: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Only devices with this client version, exactly as the device reports it',
    }),
  ),
  client_version_before: Type.Optional(
    Type.String({
      pattern: versionPattern,
      maxLength: 64,
      description:
        'Only devices with an older client version, by the precedence of Semantic Versioning 2.0.0. Devices with an unknown version do not match',
    }),
  ),
  os_version: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Only devices with this version of the operating system, exactly as the device reports it',
    }),
  ),
  arch: Type.Optional(DeviceArchitecture),
  channel: Type.Optional(OneOf(channels, { description: 'Only devices whose effective policy channel is this one' })),
  gateway_id: Type.Optional(Id('gateway')),
}

export const listDevices = endpoint({
  method: 'GET',
  path: '/v1/admin/devices',
  summary: 'List devices',
  access: { by: ['session', 'api_key'], permission: 'devices:read' },
  errors: ['validation_error'],
  query: ListQuery(
    { ...deviceFilters, ...countQuery },
    ['enrolled_at', 'name', 'last_seen_at', 'client_version'] as const,
    '-enrolled_at',
  ),
  response: CountedList(Device),
})

export const getDevice = endpoint({
  method: 'GET',
  path: '/v1/admin/devices/{device_id}',
  summary: 'Get a device',
  access: { by: ['session', 'api_key'], permission: 'devices:read' },
  params: Closed({ device_id: Id('device') }),
  response: Device,
  etag: true,
})

export const changeDevice = endpoint({
  method: 'POST',
  path: '/v1/admin/devices/lifecycle',
  summary: 'Approve, update, suspend, reactivate or revoke a device',
  description: 'Revocation is final.',
  access: { by: ['session', 'api_key'], permission: 'by_operation' },
  operations: {
    approve: { permission: 'devices:write' },
    update: { permission: 'devices:write' },
    suspend: { permission: 'devices:suspend' },
    reactivate: { permission: 'devices:write' },
    revoke: { permission: 'devices:write' },
  },
  audit: 'device.changed',
  errors: ['entitlement_exceeded'],
  body: Closed({
    operation: OneOf(['approve', 'update', 'suspend', 'reactivate', 'revoke']),
    device_id: Id('device'),
    device: Type.Optional(
      Closed({
        name: Type.Optional(Name),
        tags: Type.Optional(Tags),
        channel: Type.Optional(ChannelChoice),
        user_id: Type.Optional(Nullable(Id('user'))),
      }),
    ),
    reason: Type.Optional(Reason),
  }),
  response: Closed({ operation: Type.String(), changed: WasChanged, device: Device }),
  ifMatch: true,
})

export const changeDevices = endpoint({
  method: 'POST',
  path: '/v1/admin/devices/batch',
  summary: 'Run one operation on many devices',
  description: 'Up to 10,000 devices are given by id, or by a filter. The answer has a result for each.',
  access: { by: ['session', 'api_key'], permission: 'by_operation' },
  operations: {
    approve: { permission: 'devices:write' },
    suspend: { permission: 'devices:write' },
    reactivate: { permission: 'devices:write' },
    revoke: { permission: 'devices:write' },
  },
  audit: 'device.batch_changed',
  errors: ['entitlement_exceeded'],
  stepUp: { operation: 'revoke' },
  body: Closed({
    operation: OneOf(['approve', 'suspend', 'reactivate', 'revoke']),
    device_ids: Type.Optional(Ids('device', 10_000)),
    filter: Type.Optional(Closed(deviceFilters)),
    reason: Type.Optional(Reason),
    dry_run: Type.Optional(Type.Boolean()),
  }),
  response: Closed({
    matched: Count,
    results: Type.Array(
      Closed({
        device_id: Type.String(),
        outcome: OneOf(['changed', 'unchanged', 'failed']),
        error: Type.Optional(Type.String()),
      }),
    ),
    summary: Closed({ changed: Count, unchanged: Count, failed: Count }),
  }),
})
