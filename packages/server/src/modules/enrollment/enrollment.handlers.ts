import type { Contract, Output } from '@holdfast/contract'
import type { Handlers } from '../../http/handlers.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { createEnroll, Enrolled } from './enroll.ts'
import type { createRenew } from './renew.ts'

export function enrollmentHandlers({
  enroll,
  renew,
}: {
  enroll: ReturnType<typeof createEnroll>
  renew: ReturnType<typeof createRenew>
}) {
  const answer = (tenant: TenantId, e: Enrolled): Output<Contract['enroll']> => ({
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

  return {
    enroll: async ({ actor, body: { enrollment_token: _, ...input } }) =>
      answer(actor.tenantId, await enroll(actor, input)),
    renewCredential: async ({ actor, body, request }) =>
      answer(actor.tenantId, await renew(actor, request.newKeyProof, body)),
  } satisfies Partial<Handlers>
}
