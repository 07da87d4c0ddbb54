import { backoffSeconds, jitter, type Random } from './backoff.ts'
import { createApplier } from './device-applier.ts'
import type { DeviceCertificate } from './device-certificate.ts'
import type { DeviceCore } from './device-core.ts'
import type { DeviceStatus } from './device-status.ts'

type KeepingOptions = {
  signal: AbortSignal
  onCertificate: (certificate: DeviceCertificate | null) => void | Promise<void>
  report: (error: unknown) => void
  now: () => Date
  random: Random
}

/** A machine that slept is behind its timers by no more than this. */
const longestNap = 60
/** Seconds between two questions whether the certificate still counts: somebody may have revoked it. */
const checkSeconds = 3600

/**
 * Keeps a certificate in use while the device is answered: gets the first, and another one when it is due, does not
 * count any more, or may have been revoked with a suspension.
 */
export function createCertificateKeeper(
  device: DeviceCore,
  { signal, onCertificate, report, now, random }: KeepingOptions,
) {
  const applier = createApplier({
    current: () => device.certificate,
    textOf: ({ spcId }) => spcId,
    ...{ onChange: onCertificate, onError: report, now, random },
  })
  const ending = new AbortController()
  const until = AbortSignal.any([signal, ending.signal])
  let standing: DeviceStatus['status'] | undefined
  let failures = 0
  let checkAt = 0
  let wake = () => {}
  let isWoken = false

  /** What is to be done now; seconds until there may be something again. */
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
    /** How the device stands, as often as that changes. */
    told: (status: DeviceStatus['status']): void => {
      if (status === standing) return
      // What stops a device or its user revokes its certificates for good.
      if (standing === 'suspended') device.doubtCertificate()
      standing = status
      isWoken = true
      wake()
    },
    /** What was begun is waited for. */
    stop: async (): Promise<void> => {
      ending.abort()
      await running
      await applier.stop()
    },
  }
}
