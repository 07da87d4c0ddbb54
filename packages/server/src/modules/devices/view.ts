import type { Contract, Output } from '@holdfast/contract'
import type { Names } from '../../db/names.ts'
import type { PostureVerdict } from '../../db/tables/index.ts'
import { encodeId } from '../../kernel/ids.ts'
import { overlayAddressesOf } from './address.ts'
import { effectiveOf } from './effective.ts'
import type { findDevice } from './find.queries.ts'

type DeviceRow = NonNullable<Awaited<ReturnType<typeof findDevice>>>
type DeviceView = Output<Contract['getDevice']>
/** Channel, policy digest and posture verdict of a device, from the policy module. Undefined for a revoked device. */
export type PolicyOf = { channel: 'canary' | 'stable'; digest: string; verdict: PostureVerdict } | undefined

const time = (date: Date | null) => date?.toISOString() ?? null

/** Effective status of a device row, and its reason. */
export const effectiveStatusOf = (
  d: Pick<DeviceRow, 'status' | 'locked_by' | 'user_state' | 'credential_expires_at'>,
  at: Date,
) => {
  const credentialUntil = d.credential_expires_at.getTime()
  return effectiveOf({ status: d.status, lockedBy: d.locked_by, user: d.user_state, credentialUntil }, at.getTime())
}
const effective = (d: DeviceRow, at: Date) => {
  const { status, reason } = effectiveStatusOf(d, at)
  return { effective_status: status, effective_status_reason: reason }
}

/** Objects whose names `viewDevice` shows. */
export const namesInDevices = (rows: readonly DeviceRow[]) => ({
  user: rows.map((d) => d.user_id),
  group: rows.flatMap((d) => d.group_ids),
  enrollment_token: rows.map((d) => d.token_id),
  identity_provider: rows.map((d) => d.provider_id),
  gateway: rows.map((d) => d.gateway_id),
  gateway_pool: rows.map((d) => d.pool_id),
})

const session = (d: DeviceRow, names: Names): DeviceView['session'] =>
  d.session_id === null || d.gateway_id === null || d.pool_id === null || d.session_started_at === null
    ? null
    : {
        session_id: encodeId('vpn_session', d.session_id),
        gateway_id: encodeId('gateway', d.gateway_id),
        gateway_name: names.of('gateway', d.gateway_id),
        pool_id: encodeId('gateway_pool', d.pool_id),
        pool_name: names.of('gateway_pool', d.pool_id),
        started_at: d.session_started_at.toISOString(),
      }

export const viewDevice = (d: DeviceRow, policy: PolicyOf, names: Names, at: Date): DeviceView => ({
  device_id: encodeId('device', d.device_id),
  tenant_id: encodeId('tenant', d.tenant_id),
  user_id: d.user_id && encodeId('user', d.user_id),
  user_name: names.of('user', d.user_id),
  name: d.name,
  platform: d.platform as DeviceView['platform'],
  arch: d.arch,
  os_version: d.os_version,
  client_version: d.client_version,
  serial: d.serial,
  tags: d.tags,
  group_ids: d.group_ids.map((id) => encodeId('group', id)),
  group_names: names.ofAll('group', d.group_ids),
  status: d.status,
  ...effective(d, at),
  channel: d.channel,
  effective_channel: policy?.channel ?? 'stable',
  binding: d.jkt ? 'dpop' : 'none',
  addresses: overlayAddressesOf(d.tenant_id, d.address_number),
  wireguard_public_key: d.wireguard_public_key,
  posture: { verdict: policy?.verdict ?? 'unknown', reported_at: time(d.reported_at) },
  policy: { digest: policy?.digest ?? null, applied_digest: d.applied_digest, applied_at: time(d.applied_at) },
  enrolled_by: {
    method: d.enrolled_method,
    token_id: d.token_id && encodeId('enrollment_token', d.token_id),
    token_name: names.of('enrollment_token', d.token_id),
    provider_id: d.provider_id && encodeId('identity_provider', d.provider_id),
    provider_name: names.of('identity_provider', d.provider_id),
  },
  enrolled_at: d.enrolled_at.toISOString(),
  last_seen_at: time(d.last_seen_at),
  presence: d.presence,
  session: session(d, names),
  credential: {
    expires_at: d.credential_expires_at.toISOString(),
    renew_after: d.credential_renew_after.toISOString(),
  },
})
