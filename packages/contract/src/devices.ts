import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Platform } from './enrollment.ts'
import { Closed, Count, Id, Ids, List, ListQuery, Name, Nullable, OneOf, Prefix, Reason, Tags, Time } from './schema.ts'
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
    'The status of the device with its user, locks and credential taken into account. `active`: nothing keeps it out. `expired`: it did not renew its credential in time',
})
export const EffectiveStatusReason = Nullable(Type.String({ description: 'Why, in a sentence; null while active' }))
export const channels = ['canary', 'stable'] as const
export const Channel = OneOf(channels)
const ChannelChoice = OneOf(['auto', 'canary', 'stable'])
export const PostureVerdict = OneOf(['compliant', 'non_compliant', 'unknown'])

export const Device = Closed(
  {
    device_id: Id('device'),
    tenant_id: Id('tenant'),
    user_id: Nullable(Id('user')),
    name: Name,
    platform: Platform,
    arch: Nullable(DeviceArchitecture),
    os_version: Nullable(Type.String()),
    client_version: Nullable(Type.String()),
    serial: Nullable(Type.String()),
    tags: Type.Array(Type.String()),
    group_ids: Type.Array(Id('group'), {
      description: 'Groups given by its enrollment token, beside those of its user',
    }),
    status: deviceStatus,
    effective_status: EffectiveStatus,
    effective_status_reason: EffectiveStatusReason,
    channel: ChannelChoice,
    effective_channel: Channel,
    binding: OneOf(['dpop', 'none']),
    addresses: Closed({ ipv4: Nullable(Type.String()), ipv6: Nullable(Type.String()) }),
    wireguard_public_key: Nullable(Type.String()),
    posture: Closed({ verdict: PostureVerdict, reported_at: Nullable(Time) }, { description: 'Of its last report' }),
    policy: Closed({
      digest: Nullable(Type.String()),
      applied_digest: Nullable(Type.String()),
      applied_at: Nullable(Time),
    }),
    enrolled_by: Closed({
      method: OneOf(enrollmentMethods),
      token_id: Nullable(Id('enrollment_token')),
      provider_id: Nullable(Id('identity_provider')),
    }),
    enrolled_at: Time,
    last_seen_at: Nullable(Time),
    credential: Closed({ expires_at: Time, renew_after: Time }),
  },
  { title: 'Device' },
)

const filters = {
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
      description: 'Verdict of the last report; unknown without one',
    }),
  ),
}

export const listDevices = endpoint({
  method: 'GET',
  path: '/v1/admin/devices',
  summary: 'List devices',
  access: { by: ['session', 'api_key'], permission: 'devices:read' },
  query: ListQuery(filters, ['enrolled_at', 'name'] as const),
  response: List(Device),
})

export const getDevice = endpoint({
  method: 'GET',
  path: '/v1/admin/devices/{device_id}',
  summary: 'One device',
  access: { by: ['session', 'api_key'], permission: 'devices:read' },
  params: Closed({ device_id: Id('device') }),
  response: Device,
  etag: true,
})

export const changeDevice = endpoint({
  method: 'POST',
  path: '/v1/admin/devices/lifecycle',
  summary: 'Approve, update, suspend, reactivate or revoke a device; revocation is final',
  access: { by: ['session', 'api_key'], permission: 'by_operation' },
  operations: {
    approve: { permission: 'devices:write' },
    update: { permission: 'devices:write' },
    suspend: { permission: 'devices:suspend' },
    reactivate: { permission: 'devices:write' },
    revoke: { permission: 'devices:write' },
  },
  audit: 'device.changed',
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
  response: Closed({ operation: Type.String(), changed: Type.Boolean(), device: Device }),
  ifMatch: true,
})

export const changeDevices = endpoint({
  method: 'POST',
  path: '/v1/admin/devices/batch',
  summary: 'One operation on up to 10,000 devices, named or filtered, with an outcome for each',
  access: { by: ['session', 'api_key'], permission: 'by_operation' },
  operations: {
    approve: { permission: 'devices:write' },
    suspend: { permission: 'devices:write' },
    reactivate: { permission: 'devices:write' },
    revoke: { permission: 'devices:write' },
  },
  audit: 'device.batch_changed',
  stepUp: { operation: 'revoke' },
  body: Closed({
    operation: OneOf(['approve', 'suspend', 'reactivate', 'revoke']),
    device_ids: Type.Optional(Ids('device', 10_000)),
    filter: Type.Optional(Closed(filters)),
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
