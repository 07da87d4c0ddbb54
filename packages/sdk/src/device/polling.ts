import { longestHoldSeconds, pollSeconds } from '@holdfast/contract/limits'
import { backoffSeconds, jitter, type Random, sleep } from '../backoff.ts'
import { createLagPatience } from '../gateway/lagging.ts'
import { safely } from '../safely.ts'
import type { DevicePolicy } from '../verify/policy-verifier.ts'
import { createWaitLimit } from '../wait-limit.ts'
import { createApplier } from './applier.ts'
import type { DeviceCertificate } from './certificate.ts'
import { createCertificateKeeper } from './certificate-keeping.ts'
import type { DeviceCore } from './core.ts'
import { DeviceEndedError, type DeviceStatus, statusOfFailure } from './status.ts'

export type PollingOptions = {
  signal: AbortSignal
  /**
   * Called with each policy that comes into force, first the saved one, and with null after the expiry of the last
   * valid one. One call at a time. If it throws or rejects, it is called again, until it settles or a newer policy is
   * in force.
   */
  onPolicy: (policy: DevicePolicy | null) => void | Promise<void>
  /**
   * If set, a certificate is kept valid too. Called like `onPolicy`: with each certificate that comes into use, first
   * the saved one, and with null after the end of the last one.
   */
  onCertificate?: (certificate: DeviceCertificate | null) => void | Promise<void>
  /** Called at each change of the device's status. */
  onStatus?: (status: DeviceStatus) => void
  /**
   * Called with each error that does not end the polling: `VerificationError`, `ConnectionError`, `ApiError`, and those
   * of `onPolicy` and `onCertificate`.
   */
  onError?: (error: unknown) => void
  /** Seconds that the server may hold a request, ± 20 %; default 240. With 0 it polls at the interval of the policy. */
  wait?: number
  /** Seconds between two requests while the device is suspended or refused, ± 20 %; default 60. */
  slow?: number
}

/** Longest wait in seconds before the device is approved. */
const longestWhilePending = 25
/** Number of immediate unchanged responses in a row after which the server counts as one without long polls. */
const patience = 3
/** Seconds before a repetition of a request whose response was older than the held state. */
const lagPauseSeconds = 1

/**
 * Keeps the policy current until aborted, then settles. One request is held at the server until a change. Renews the
 * credential when due and refreshes the trust set. Every other status is reported to `onStatus`, and polling continues.
 * It rejects only if the device has ended for good, with `DeviceEndedError` (`revoked`, `credential_expired`).
 */
export async function runPolling(
  device: DeviceCore,
  { signal, onPolicy, onCertificate, onStatus, onError, wait = 240, slow = 60 }: PollingOptions,
  { now, random }: { now: () => Date; random: Random },
): Promise<void> {
  const report = safely(onError)
  const tellAgent = createTeller(safely(onStatus), now)
  const certificates = onCertificate && createCertificateKeeper(device, { signal, onCertificate, report, now, random })
  const tell = (status: DeviceStatus['status'], error?: unknown): void => {
    tellAgent(status, error)
    certificates?.told(status)
  }
  const applier = createApplier({
    current: () => device.policy,
    textOf: ({ digest }) => digest,
    onChange: onPolicy,
    onError: report,
    now,
    random,
  })
  const maintain = createMaintenance(device, { now, random, report })
  const lag = createLagPatience()
  let failures = 0
  let idle = 0
  const hold = Math.min(wait, longestHoldSeconds)
  const limit = createWaitLimit()
  /** Requested wait of the last request, in seconds. */
  let held = 0
  /** After a failure the next request does not wait, so that a recovery is seen at once. */
  let mayHold = true
  /**
   * True after one refusal. A request that was held during a suspension is refused without a reason, so it is repeated
   * once.
   */
  let isDoubted = false

  /** Sends one request. Returns the seconds until the next. */
  async function ask(took: () => number): Promise<number> {
    held = 0
    await maintain(signal)
    if (device.isConfirmed) {
      const before = device.policy
      const untilDue = (device.nextDue.getTime() - now().getTime()) / 1000
      // An approval alone does not end a held request, unless the policy changes with it.
      const longest = device.standing === 'pending' ? Math.min(hold, longestWhilePending) : hold
      const wanted = Math.min(limit.bound(jitter(longest, random), random), untilDue)
      held = mayHold ? Math.max(0, Math.floor(wanted)) : 0
      await device.fetchBundle({ wait: held, signal })
      if (!mayHold) return 0
      idle = device.policy !== before || took() > 1 ? 0 : idle + 1
    } else {
      const { changed } = await device.pollDigest({ signal })
      if (changed || device.isBundleDue) await device.fetchBundle({ signal })
    }
    const isUnheld = hold === 0 || idle >= patience
    return isUnheld ? jitter(device.policy?.content.settings.poll_seconds ?? pollSeconds, random) : 0
  }

  /** Returns the seconds until the next request. Throws if there is none. */
  function survive(e: unknown, took: number): number {
    const status = statusOfFailure(e, { expiresAt: new Date(device.expiresAt), now: now() })
    if (status === 'revoked' || status === 'credential_expired') throw new DeviceEndedError(status, { cause: e })
    if (status === 'refused' && !isDoubted) {
      isDoubted = true
      return 0
    }
    // The held policy stays in force, and the lag is not reported.
    if (lag.bears(e)) return jitter(lagPauseSeconds, random)
    // The next response comes without a wait and shows the server's state.
    if (!limit.cuts(e, { held, took })) tell(status, e)
    report(e)
    if (status !== 'unreachable') return jitter(slow, random)
    return backoffSeconds(++failures, e, random)
  }

  try {
    await applier.apply()
    while (!signal.aborted) {
      const asked = performance.now()
      const took = () => (performance.now() - asked) / 1000
      let pause: number
      try {
        pause = await ask(took)
        failures = 0
        lag.reset()
        mayHold = true
        isDoubted = false
        tell(device.standing)
      } catch (e) {
        if (signal.aborted) return
        pause = survive(e, took())
        mayHold = false
      }
      await applier.apply()
      await sleep(pause, signal).catch((e) => {
        if (!signal.aborted) throw e
      })
    }
  } finally {
    await certificates?.stop()
    await applier.stop()
  }
}

function createTeller(onStatus: (status: DeviceStatus) => void, now: () => Date) {
  let told: DeviceStatus['status'] | undefined
  return (status: DeviceStatus['status'], error?: unknown): void => {
    if (status === told) return
    told = status
    onStatus({ status, since: now(), ...(error !== undefined && { error }) })
  }
}

type Upkeep = { now: () => Date; random: Random; report: (error: unknown) => void }

/**
 * Renews the credential and refreshes the trust set when due. A failure is reported and retried later; polling
 * continues meanwhile.
 */
function createMaintenance(device: DeviceCore, { now, random, report }: Upkeep) {
  let failures = 0
  let notBefore = 0
  return async (signal: AbortSignal): Promise<void> => {
    if (now().getTime() < notBefore) return
    try {
      if (device.isRenewalDue) await device.renew({ signal })
      if (device.isTrustDue) await device.refreshTrust({ signal })
      failures = 0
    } catch (e) {
      if (signal.aborted) throw e
      report(e)
      notBefore = now().getTime() + backoffSeconds(++failures, e, random) * 1000
    }
  }
}
