import { backoffSeconds, jitter, type Random, sleep } from './backoff.ts'
import { createApplier } from './device-applier.ts'
import type { DeviceCertificate } from './device-certificate.ts'
import { createCertificateKeeper } from './device-certificate-keeping.ts'
import type { DeviceCore } from './device-core.ts'
import { DeviceEndedError, type DeviceStatus, statusOfFailure } from './device-status.ts'
import { createLagPatience } from './lagging.ts'
import type { DevicePolicy } from './policy-verifier.ts'
import { safely } from './safely.ts'
import { createWaitLimit } from './wait-limit.ts'

export type PollingOptions = {
  signal: AbortSignal
  /**
   * Called with each policy that comes into force, the saved one first, and with null when the last good one has ended.
   * One call at a time. Where it throws or rejects, it is called again, until it settles or something newer is in
   * force.
   */
  onPolicy: (policy: DevicePolicy | null) => void | Promise<void>
  /**
   * With it a certificate is kept in use too. Called as `onPolicy` is: with each certificate that comes into use, the
   * saved one first, and with null when the last one has ended.
   */
  onCertificate?: (certificate: DeviceCertificate | null) => void | Promise<void>
  /** Told of each move between the states in which a device may stand. */
  onStatus?: (status: DeviceStatus) => void
  /**
   * Told of every failure that is survived: `VerificationError`, `ConnectionError`, `ApiError`, and those of
   * `onPolicy` and `onCertificate`.
   */
  onError?: (error: unknown) => void
  /** Seconds that the server may hold a request, ± 20 %; 240 unless said. 0 asks as often as the policy advises. */
  wait?: number
  /** Seconds between two requests while the device is suspended or refused, ± 20 %; 60 unless said. */
  slow?: number
}

/** The longest hold the interface allows, and the longest before somebody has approved the device. */
const longestWait = 300
const longestWhilePending = 25
/**
 * Answers in a row that may come back at once and unchanged before the server counts as one that does not hold them.
 */
const patience = 3
const defaultPollSeconds = 30
/** Until an answer is asked for again that was older than what is held. */
const lagPauseSeconds = 1

/**
 * Keeps the policy current until aborted, then settles: one request is held at the server until something changes.
 * Renews the credential when due and refreshes the trust set. Whatever the device lives through is told by `onStatus`
 * and waited for; only a definite end rejects, with `DeviceEndedError` (`revoked`, `credential_expired`).
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
    ...{ onError: report, now, random },
  })
  const maintain = createMaintenance(device, { now, random, report })
  const lag = createLagPatience()
  let failures = 0
  let idle = 0
  const hold = Math.min(wait, longestWait)
  const limit = createWaitLimit()
  /** Seconds that the last answer was to be held. */
  let held = 0
  /** After a failure the next answer is not held, so that it says at once that all is well again. */
  let mayHold = true
  /** A request that was held when the device was stopped is refused without a word of why: it is asked once more. */
  let isDoubted = false

  /** One request; seconds until the next. */
  async function ask(took: () => number): Promise<number> {
    held = 0
    await maintain(signal)
    if (device.isConfirmed) {
      const before = device.policy
      const untilDue = (device.nextDue.getTime() - now().getTime()) / 1000
      // That it was approved ends no request which is held, unless its policy changes with it.
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
    return isUnheld ? jitter(device.policy?.content.settings.poll_seconds ?? defaultPollSeconds, random) : 0
  }

  /** Seconds until the next request. Throws where there is none. */
  function survive(e: unknown, took: number): number {
    const status = statusOfFailure(e, { expiresAt: new Date(device.expiresAt), now: now() })
    if (status === 'revoked' || status === 'credential_expired') throw new DeviceEndedError(status, { cause: e })
    if (status === 'refused' && !isDoubted) {
      isDoubted = true
      return 0
    }
    // What is held stays in force, and nobody needs to hear of it.
    if (lag.bears(e)) return jitter(lagPauseSeconds, random)
    // The next answer, which is not held, says how the server is.
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

/** Renewal and trust, each when due. A failure is told and tried again later; polling goes on meanwhile. */
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
