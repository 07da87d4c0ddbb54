import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import type { Device } from './device.ts'
import { createEnrollment, persist } from './enroll.ts'
import type { DeviceOptions } from './options.ts'

type EnrollmentProvider = Output<Contract['listEnrollmentProviders']>['items'][number]
type Finish = Input<Contract['enrollBySaml']>['body']

export type SamlEnrollment = {
  /** The SAML identity providers to choose from. */
  providers: EnrollmentProvider[]
  /**
   * Returns the address for the person's browser. The browser posts the result to `redirectUri`, where the application
   * listens on 127.0.0.1: the form field `SAMLResponse`, and as `RelayState` the returned `requestId`.
   */
  begin: (chosen: { provider_id: string; redirectUri: string }) => Promise<SamlRequest>
}
export type SamlRequest = {
  requestId: string
  redirectUrl: string
  expiresAt: Date
  /** Enrolls the device. Throws `ApiError`, `ConnectionError`, `VerificationError`. */
  finish: (signedIn: Pick<Finish, 'saml_response' | 'device'>) => Promise<Device>
}

/**
 * Begins an enrollment by a SAML identity provider, with a credential that may list them: an enrollment or bootstrap
 * token, or an API key. The key is created here, unless `key` is given; the response can't enroll another device. After
 * a lost response `finish` is repeated.
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
