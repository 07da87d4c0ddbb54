import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import type { Device } from './device.ts'
import type { DeviceOptions } from './device-options.ts'
import { createEnrollment, persist } from './enroll.ts'

type EnrollmentProvider = Output<Contract['listEnrollmentProviders']>['items'][number]
type Finish = Input<Contract['enrollBySaml']>['body']

export type SamlEnrollment = {
  /** The identity providers of SAML to choose from. */
  providers: EnrollmentProvider[]
  /**
   * Where to send the person's browser. What they bring back is posted to `redirectUri`, where the application listens
   * on 127.0.0.1: the form field `SAMLResponse`, and as `RelayState` the `requestId` that is given here.
   */
  begin: (chosen: { provider_id: string; redirectUri: string }) => Promise<SamlRequest>
}
export type SamlRequest = {
  requestId: string
  redirectUrl: string
  expiresAt: Date
  /** Throws `ApiError`, `ConnectionError`, `VerificationError`. */
  finish: (signedIn: Pick<Finish, 'saml_response' | 'device'>) => Promise<Device>
}

/**
 * Begins an enrollment by an identity provider of SAML, with a credential that lists them: an enrollment or bootstrap
 * token, or an API key. The key is made here, or is `key`; the response enrolls nobody else's device. A lost answer of
 * `finish` is asked for again.
 */
export async function beginSamlEnrollment({
  baseUrl,
  credential,
  ...options
}: DeviceOptions & { baseUrl: string; credential: string }): Promise<SamlEnrollment> {
  const { send, complete } = createEnrollment(baseUrl, options)
  const { items, challenge } = await persist(() => send(credential)('listEnrollmentProviders'))
  return {
    providers: items.filter(({ kind }) => kind === 'saml'),
    begin: async ({ provider_id, redirectUri }) => {
      const body = { provider_id, redirect_uri: redirectUri }
      const begun = await persist(() => send(challenge)('beginEnrollmentBySaml', { body }))
      const { request_id } = begun
      return {
        requestId: request_id,
        redirectUrl: begun.redirect_url,
        expiresAt: new Date(begun.expires_at),
        finish: async (signedIn) => {
          const idempotencyKey = randomUUID()
          const finished = { ...signedIn, request_id }
          return complete(await persist(() => send(challenge)('enrollBySaml', { body: finished }, { idempotencyKey })))
        },
      }
    },
  }
}
