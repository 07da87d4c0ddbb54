import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import { enrollmentNonce } from '@holdfast/crypto/opaque-token'
import type { Device } from './device.ts'
import { createEnrollment, persist } from './enroll.ts'
import type { DeviceOptions } from './options.ts'

type Body = Input<Contract['enrollByOidc']>['body']
/** An ID token with the nonce, or a code of a flow with the nonce. */
type Grant = Pick<Body, 'id_token' | 'code' | 'code_verifier' | 'redirect_uri' | 'client_id' | 'iss'>
type EnrollmentProvider = Output<Contract['listEnrollmentProviders']>['items'][number]

export type OidcEnrollment = {
  /** The identity providers to choose from. */
  providers: EnrollmentProvider[]
  /**
   * Required `nonce` of the authorization request. It is bound to this challenge and this key, so that the token can't
   * enroll another device.
   */
  nonce: string
  /** Time until which `finish` can be called: 15 minutes. */
  expiresAt: Date
  /** Enrolls the device with the result of the sign-in. Throws `ApiError`, `ConnectionError`, `VerificationError`. */
  finish: (signedIn: Grant & { provider_id: string; device: Body['device'] }) => Promise<Device>
}

/**
 * Begins an enrollment by an identity provider, with a credential that may list them: an enrollment or bootstrap token,
 * or an API key. The key is created here, unless `key` is given. After a lost response `finish` is repeated.
 */
export async function beginOidcEnrollment({
  baseUrl,
  credential,
  ...options
}: DeviceOptions & { baseUrl: string; credential: string }): Promise<OidcEnrollment> {
  const { jkt, send, complete } = createEnrollment(baseUrl, options)
  const offered = await persist(() => send(credential)('listEnrollmentProviders'))
  const { items: providers, challenge } = offered
  return {
    providers,
    nonce: enrollmentNonce(challenge, jkt),
    expiresAt: new Date(offered.challenge_expires_at),
    finish: async (body) => {
      const idempotencyKey = randomUUID()
      return complete(await persist(() => send(challenge)('enrollByOidc', { body }, { idempotencyKey })))
    },
  }
}
