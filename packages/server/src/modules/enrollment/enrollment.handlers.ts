import type { Handlers } from '../../http/handlers.ts'
import { decodeId, encodeId } from '../../kernel/ids.ts'
import type { Challenges } from './challenge.ts'
import type { Enroll } from './enroll.ts'
import type { EnrollByOidc } from './enroll-oidc.ts'
import type { EnrollBySaml } from './enroll-saml.ts'
import type { ListEnrollers } from './enrollers.ts'
import type { Renew } from './renew.ts'
import { viewEnrolled } from './view.ts'

export function enrollmentHandlers({
  enroll,
  enrollByOidc,
  enrollBySaml,
  listEnrollers,
  challenges,
  renew,
}: {
  enroll: Enroll
  enrollByOidc: EnrollByOidc
  enrollBySaml: EnrollBySaml
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
      const providerId = decodeId('identity_provider', provider_id)
      return viewEnrolled(actor.tenantId, await enrollByOidc(actor, { ...input, providerId }))
    },
    beginEnrollmentBySaml: async ({ actor, body: { challenge: _, provider_id, redirect_uri, ...key } }) => {
      const providerId = decodeId('identity_provider', provider_id)
      const begun = await enrollBySaml.begin(actor, { ...key, providerId, redirectUri: redirect_uri })
      return { request_id: begun.requestId, redirect_url: begun.url, expires_at: begun.expiresAt.toISOString() }
    },
    enrollBySaml: async ({ actor, body: { challenge: _, request_id, saml_response, ...input } }) =>
      viewEnrolled(
        actor.tenantId,
        await enrollBySaml.finish(actor, { ...input, requestId: request_id, samlResponse: saml_response }),
      ),
    renewCredential: async ({ actor, body, request }) =>
      viewEnrolled(actor.tenantId, await renew(actor, request.newKeyProof, body)),
  } satisfies Partial<Handlers>
}
