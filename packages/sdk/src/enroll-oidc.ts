import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import { enrollmentNonce } from '@holdfast/crypto/opaque-token'
import type { Device } from './device.ts'
import type { DeviceOptions } from './device-options.ts'
import { createEnrollment, persist } from './enroll.ts'

type Body = Input<Contract['enrollByOidc']>['body']
/** An ID token with the nonce, or a code of a flow that asked for one. */
type Grant = Pick<Body, 'id_token' | 'code' | 'code_verifier' | 'redirect_uri' | 'client_id' | 'iss'>
type EnrollmentProvider = Output<Contract['listEnrollmentProviders']>['items'][number]

export type OidcEnrollment = {
  /** The identity providers to choose from. */
  providers: EnrollmentProvider[]
  /**
   * To be asked for with the ID token (`nonce` of the authorization request). It stands for this challenge and this
   * key, so that the token enrolls nobody else's device.
   */
  nonce: string
  /** Until when `finish` can be called: 15 minutes. */
  expiresAt: Date
  /** What the person who signed in brings. Throws `ApiError`, `ConnectionError`, `VerificationError`. */
  finish: (signedIn: Grant & { provider_id: string; device: Body['device'] }) => Promise<Device>
}

/**
 * Begins an enrollment by an identity provider, with a credential that lists them: an enrollment or bootstrap token, or
 * an API key. The key is made here, or is `key`. A lost answer of `finish` is asked for again.
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
