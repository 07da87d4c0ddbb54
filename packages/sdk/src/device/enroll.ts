import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import { createProof } from '@holdfast/crypto/dpop'
import { thumbprint } from '@holdfast/crypto/jwk'
import { generateKey } from '@holdfast/crypto/signer'
import { jitter, sleep } from '../backoff.ts'
import { ApiError, ConnectionError } from '../errors.ts'
import { createSender, type Reply } from '../send.ts'
import { pinTrust } from '../verify/trust-store.ts'
import { type Device, openDevice } from './device.ts'
import { deviceKey } from './key.ts'
import type { DeviceOptions } from './options.ts'
import type { DeviceState } from './state.ts'

export type Enrollment = DeviceOptions & {
  baseUrl: string
  /** The enrollment token, `hfe_…`. */
  token: string
  device: Input<Contract['enroll']>['body']['device']
}

const attempts = 3
const longestPause = 10

/**
 * Proves possession of a key and gets a credential bound to it; then pins the tenant's trust set. The key is `key`,
 * which never leaves its store (a TPM, a platform key store), or a new one (ES256), which leaves this process only in
 * the state. After a lost response the request is repeated within a few seconds with the same Idempotency-Key, so the
 * token is used once. Throws `ApiError`, `ConnectionError`, `VerificationError`.
 */
export async function enrollDevice({ baseUrl, token, device, ...options }: Enrollment): Promise<Device> {
  const { send, complete } = createEnrollment(baseUrl, options)
  const idempotencyKey = randomUUID()
  return complete(await persist(() => send(token)('enroll', { body: { device } }, { idempotencyKey })))
}

/** Result of every way of enrolling. */
type Credential = Output<Contract['enroll']>

/**
 * Creates a key, and a sender of requests with its proofs. `complete` makes a device of the response: it pins the
 * tenant's trust set and saves the device's state.
 */
export function createEnrollment(baseUrl: string, options: DeviceOptions) {
  const { now = () => new Date() } = options
  const privateJwk = options.key ? null : generateKey('ES256').privateJwk
  const key = deviceKey(options.key, privateJwk)
  const send = (credential: string) =>
    createSender({
      baseUrl,
      credential,
      prove: (method, url, accessToken) => createProof(key, { method, url, accessToken, now: now() }),
      ...(options.dispatcher && { dispatcher: options.dispatcher }),
    })
  const complete = async (enrolled: Credential): Promise<Device> => {
    const trust = await persist(() => send(enrolled.credential)('trustAnchors'))
    pinTrust(trust, { tenantId: enrolled.tenant_id, now: now() })
    const state: DeviceState = {
      schema: 'holdfast.device-state/1',
      baseUrl,
      deviceId: enrolled.device_id,
      tenantId: enrolled.tenant_id,
      userId: enrolled.user_id,
      privateJwk,
      credential: enrolled.credential,
      expiresAt: enrolled.expires_at,
      renewAfter: enrolled.renew_after,
      trust,
      accepted: null,
      policy: null,
      directory: null,
    }
    await options.store?.save(state)
    return openDevice(state, options)
  }
  return { jkt: thumbprint('signSync' in key ? key.publicJwk : key), send, complete }
}

/** Returns undefined if a repetition is pointless. */
function secondsAfter(error: unknown, attempt: number): number | undefined {
  if (error instanceof ConnectionError) return attempt
  return error instanceof ApiError ? error.retryAfterSeconds : undefined
}

export async function persist<T>(ask: () => Promise<Reply<T>>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { body } = await ask()
      if (body !== undefined) return body
      throw new ConnectionError('The server gave an empty answer.')
    } catch (error) {
      const pause = secondsAfter(error, attempt)
      if (attempt >= attempts || pause === undefined || pause > longestPause) throw error
      await sleep(jitter(pause, Math.random))
    }
  }
}
