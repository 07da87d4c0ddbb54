import type { Contract, Output } from '@holdfast/contract'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Enrolled } from './admission.ts'

/** Answer of every enrollment method. */
export const viewEnrolled = (tenant: TenantId, e: Enrolled): Output<Contract['enroll']> => ({
  device_id: encodeId('device', e.deviceId),
  tenant_id: encodeId('tenant', tenant),
  user_id: e.userId && encodeId('user', e.userId),
  status: e.status,
  credential: e.credential,
  token_type: 'Bearer',
  binding: e.jkt ? 'dpop' : 'none',
  expires_at: e.expiresAt.toISOString(),
  renew_after: e.renewAfter.toISOString(),
  addresses: e.addresses,
  trust_anchor_version: e.trustVersion,
})
