import type { Handlers } from '../../http/handlers.ts'
import { unauthorized } from '../../kernel/app-error.ts'
import { decodeId, encodeId } from '../../kernel/ids.ts'
import type { Challenges } from './challenge.ts'
import type { Enroll } from './enroll.ts'
import type { EnrollByOidc } from './enroll-oidc.ts'
import type { ListEnrollers } from './enrollers.ts'
import type { Renew } from './renew.ts'
import { viewEnrolled } from './view.ts'

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
  return {
    enroll: async ({ actor, body: { enrollment_token: _, ...input } }) =>
      viewEnrolled(actor.tenantId, await enroll(actor, input)),
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
          device_code: p.device_code,
        })),
        challenge,
        challenge_expires_at: expiresAt.toISOString(),
      }
    },
    enrollByOidc: async ({ actor, body: { challenge: _, provider_id, ...input } }) => {
      // Of whom nothing is proved yet, no id is said to be there or not.
      const providerId = decodeId('identity_provider', provider_id) ?? unauthorized()
      return viewEnrolled(actor.tenantId, await enrollByOidc(actor, { ...input, providerId }))
    },
    renewCredential: async ({ actor, body, request }) =>
      viewEnrolled(actor.tenantId, await renew(actor, request.newKeyProof, body)),
  } satisfies Partial<Handlers>
}
