import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import { challengeMinutes } from '@holdfast/contract/limits'
import { backoffSeconds, sleep } from '../backoff.ts'
import { ApiError, ConnectionError, NotApprovedError } from '../errors.ts'
import { etagOf, type Send } from '../send.ts'
import { createWaitLimit } from '../wait-limit.ts'
import type { Device } from './device.ts'
import { createEnrollment, persist } from './enroll.ts'
import type { DeviceOptions } from './options.ts'

type NewDevice = Input<Contract['enrollByDeviceCode']>['body']['device']
type EnrollmentProvider = Output<Contract['listEnrollmentProviders']>['items'][number]

/** Data for the person who approves a machine, in any browser. */
export type DeviceApproval = {
  userCode: string
  verificationUri: string
  /** The same address with the code in it, if the provider offers one. */
  verificationUriComplete: string | null
  expiresAt: Date
  /**
   * Settles when the machine is approved and enrolled. `onWait` is called each time the server has no news. Throws
   * `NotApprovedError`, `ApiError`, `ConnectionError`, `VerificationError`.
   */
  finish: (enrolled: { device: NewDevice; signal?: AbortSignal; onWait?: () => void }) => Promise<Device>
}
export type DeviceCodeEnrollment = {
  /** The identity providers to choose from. Only those with `device_code` support this flow. */
  providers: EnrollmentProvider[]
  begin: (providerId: string) => Promise<DeviceApproval>
}

const waitSeconds = 50

/**
 * Begins the enrollment of a machine without a browser (RFC 8628), with a credential that may list identity providers:
 * an enrollment or bootstrap token, or an API key. The key is created here, unless `key` is given. The server polls the
 * provider; the machine polls the server, which holds the request until there is news.
 */
export async function beginDeviceCodeEnrollment({
  baseUrl,
  credential,
  ...options
}: DeviceOptions & { baseUrl: string; credential: string }): Promise<DeviceCodeEnrollment> {
  const { send, complete } = createEnrollment(baseUrl, options)
  const { items: providers, challenge } = await persist(() => send(credential)('listEnrollmentProviders'))
  const ask = send(challenge)
  return {
    providers,
    begin: async (provider_id) => {
      const once = { idempotencyKey: randomUUID() }
      const begun = await persist(() => ask('beginDeviceCode', { body: { provider_id } }, once))
      const expiresAt = new Date(begun.expires_at)
      return {
        userCode: begun.user_code,
        verificationUri: begun.verification_uri,
        verificationUriComplete: begun.verification_uri_complete,
        expiresAt,
        finish: async ({ device, signal, onWait = () => {} }) => {
          await untilApproved(ask, { signal, onWait, pauseSeconds: begun.interval_seconds })
          const idempotencyKey = randomUUID()
          return complete(await persist(() => ask('enrollByDeviceCode', { body: { device } }, { idempotencyKey })))
        },
      }
    },
  }
}

/**
 * Polls until the approval or a final refusal. After temporary errors it repeats the request while the challenge is
 * valid.
 */
async function untilApproved(
  ask: Send,
  { signal, onWait, pauseSeconds }: { signal: AbortSignal | undefined; onWait: () => void; pauseSeconds: number },
): Promise<void> {
  let known: string | null = null
  const until = performance.now() + challengeMinutes * 60_000
  const limit = createWaitLimit()
  for (let failures = 0; ; ) {
    const asked = performance.now()
    const held = Math.floor(limit.bound(waitSeconds, Math.random))
    try {
      const headers = known === null ? {} : { 'if-none-match': known }
      const reply = await ask('deviceCodeStatus', {}, { headers, wait: held, signal })
      failures = 0
      const status = reply.body?.status ?? 'authorization_pending'
      if (status === 'authorized') return
      if (status !== 'authorization_pending') throw new NotApprovedError(status)
      known = etagOf(reply)
      onWait()
      // The server does not hold requests, or a proxy prevents it.
      if (reply.status === 304 && performance.now() - asked < 1000) await sleep(pauseSeconds, signal)
    } catch (e) {
      const passes = e instanceof ConnectionError || (e instanceof ApiError && (e.status >= 500 || e.status === 429))
      if (!passes || signal?.aborted || performance.now() > until) throw e
      limit.cuts(e, { held, took: (performance.now() - asked) / 1000 })
      await sleep(backoffSeconds(++failures, e, Math.random, 20), signal)
    }
  }
}
