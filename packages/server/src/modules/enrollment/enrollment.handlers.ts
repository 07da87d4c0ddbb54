import type { Contract, Output } from '@holdfast/contract'
import type { Handlers } from '../../http/handlers.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { unauthorized } from '../../kernel/app-error.ts'
import { decodeId, encodeId } from '../../kernel/ids.ts'
import type { Enrolled } from './admission.ts'
import type { Challenges } from './challenge.ts'
import type { Enroll } from './enroll.ts'
import type { EnrollByOidc } from './enroll-oidc.ts'
import type { ListEnrollers } from './enrollers.ts'
import type { Renew } from './renew.ts'

export function enrollmentHandlers({
  enroll,
  enrollByOidc,
  listEnrollers,
  challenges,
  renew,
}: {
  enroll: Enroll
  enrollByOidc: EnrollByOidc
  listEnrollers: ListEnrollers
  challenges: Pick<Challenges, 'mint'>
  renew: Renew
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
    listEnrollmentProviders: async ({ actor }) => {
      const providers = await listEnrollers(actor)
      const { challenge, expiresAt } = challenges.mint(actor.tenantId)
      return {
        items: providers.map((p) => ({
          provider_id: encodeId('identity_provider', p.provider_id),
          name: p.name,
          kind: p.kind,
          issuer: p.issuer,
          client_ids: p.client_ids,
          scopes: p.scopes,
        })),
        challenge,
        challenge_expires_at: expiresAt.toISOString(),
      }
    },
    enrollByOidc: async ({ actor, body: { challenge: _, provider_id, ...input } }) => {
      // Of whom nothing is proved yet, no id is said to be there or not.
      const providerId = decodeId('identity_provider', provider_id) ?? unauthorized()
      return answer(actor.tenantId, await enrollByOidc(actor, { ...input, providerId }))
    },
    renewCredential: async ({ actor, body, request }) =>
      answer(actor.tenantId, await renew(actor, request.newKeyProof, body)),
  } satisfies Partial<Handlers>
}
