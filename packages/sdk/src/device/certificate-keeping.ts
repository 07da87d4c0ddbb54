import { backoffSeconds, jitter, type Random } from '../backoff.ts'
import { createApplier } from './applier.ts'
import type { DeviceCertificate } from './certificate.ts'
import type { DeviceCore } from './core.ts'
import type { DeviceStatus } from './status.ts'

type KeepingOptions = {
  signal: AbortSignal
  onCertificate: (certificate: DeviceCertificate | null) => void | Promise<void>
  report: (error: unknown) => void
  now: () => Date
  random: Random
}

/** Longest timer in seconds. After a sleep of the machine, timers are late by at most this. */
const longestNap = 60
/** Seconds between two checks of the certificate's validity, since it may have been revoked. */
const checkSeconds = 3600

/**
 * Keeps a valid certificate while the device is active. It gets the first one. It gets another one when the renewal is
 * due, when the certificate is no longer valid, or when a suspension may have revoked it.
 */
export function createCertificateKeeper(
  device: DeviceCore,
  { signal, onCertificate, report, now, random }: KeepingOptions,
) {
  const applier = createApplier({
    current: () => device.certificate,
    textOf: ({ spcId }) => spcId,
    onChange: onCertificate,
    onError: report,
    now,
    random,
  })
  const ending = new AbortController()
  const until = AbortSignal.any([signal, ending.signal])
  let standing: DeviceStatus['status'] | undefined
  let failures = 0
  let checkAt = 0
  let wake = () => {}
  let isWoken = false

  /** Does the due work. Returns the seconds until the next call. */
  async function attend(): Promise<number> {
    try {
      const isRenewal = device.isCertificateDue
      if (isRenewal) await device.renewCertificate({ signal: until })
      else if (now().getTime() >= checkAt) await device.checkCertificate({ signal: until })
      else return longestNap
      failures = 0
      checkAt = now().getTime() + jitter(checkSeconds, random) * 1000
      return !isRenewal && device.isCertificateDue ? 0 : longestNap
    } catch (e) {
      if (!until.aborted) report(e)
      return backoffSeconds(++failures, e, random)
    }
  }

  const nap = (seconds: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, isWoken || until.aborted ? 0 : seconds * 1000)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  async function run(): Promise<void> {
    until.addEventListener('abort', () => wake(), { once: true })
    await applier.apply()
    while (!until.aborted) {
      isWoken = false
      const pause = standing === 'active' ? await attend() : longestNap
      await applier.apply()
      await nap(pause)
    }
  }
  const running = run()

  return {
    /** Receives the device's status after each change. */
    told: (status: DeviceStatus['status']): void => {
      if (status === standing) return
      // A suspension of a device or its user revokes its certificates for good.
      if (standing === 'suspended') device.doubtCertificate()
      standing = status
      isWoken = true
      wake()
    },
    /** Waits for running work. */
    stop: async (): Promise<void> => {
      ending.abort()
      await running
      await applier.stop()
    },
  }
}
