import type { Contract, Output } from '@holdfast/contract'
import type { Handlers } from '../../http/handlers.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { decodeId, encodeId } from '../../kernel/ids.ts'
import { Representation } from '../../kernel/results.ts'
import type { Enrolled } from './admission.ts'
import type { Challenges } from './challenge.ts'
import type { DeviceCode } from './device-code.ts'
import type { Enroll } from './enroll.ts'
import type { EnrollByOidc } from './enroll-oidc.ts'
import type { EnrollBySaml } from './enroll-saml.ts'
import type { ListEnrollers } from './provider-enrollment.ts'
import type { Renew } from './renew.ts'

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

export const deviceCodeHandlers = ({ deviceCode }: { deviceCode: DeviceCode }) =>
  ({
    beginDeviceCode: async ({ actor, body: { provider_id, public_key } }) => {
      const providerId = decodeId('identity_provider', provider_id)
      const begun = await deviceCode.begin(actor, { providerId, ...(public_key && { public_key }) })
      return {
        user_code: begun.userCode,
        verification_uri: begun.verificationUri,
        verification_uri_complete: begun.verificationUriComplete,
        interval_seconds: begun.intervalSeconds,
        expires_at: begun.expiresAt.toISOString(),
      }
    },
    deviceCodeStatus: async ({ actor, hold }) => {
      const { status, intervalSeconds, expiresAt } = await deviceCode.status(actor, hold)
      const view = { status, interval_seconds: intervalSeconds, expires_at: expiresAt.toISOString() }
      return new Representation(status, view)
    },
    enrollByDeviceCode: async ({ actor, body: { challenge: _, ...input } }) =>
      viewEnrolled(actor.tenantId, await deviceCode.finish(actor, input)),
  }) satisfies Partial<Handlers>

/** Answer of every enrollment method. */
const viewEnrolled = (tenant: TenantId, e: Enrolled): Output<Contract['enroll']> => ({
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
