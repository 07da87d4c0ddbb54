import { backoffSeconds, jitter, type Random, sleep } from './backoff.ts'
import type { Device } from './device.ts'
import { ApiError } from './errors.ts'
import type { DevicePolicy } from './policy-verifier.ts'

export type PollingOptions = {
  signal: AbortSignal
  /** Called with each policy that comes into force, the saved one first, and with null when the last good one has ended. */
  onPolicy: (policy: DevicePolicy | null) => void | Promise<void>
  /** Told of every failure that is survived: `VerificationError`, `ConnectionError`, `ApiError`. */
  onError?: (error: unknown) => void
  /** Seconds that the server may hold a poll, ± 20 %; 25 unless said. 0 polls as often as the server advises. */
  wait?: number
}

/** The longest hold the interface allows. */
const longestWait = 55
/** Polls in a row that may come back at once and unchanged before the server counts as one that does not hold them. */
const patience = 3

/**
 * Polls until aborted, then settles. Renews the credential when due and refreshes the trust set; failures wait longer each time and
 * leave the policy in force until its own end. Rejects when the credential is refused and could not be renewed.
 */
export async function runPolling(
  device: Device,
  { signal, onPolicy, onError, wait = 25 }: PollingOptions,
  { now, random }: { now: () => Date; random: Random },
): Promise<void> {
  let told: string | null = null
  const tell = async () => {
    const { policy } = device
    const digest = policy?.digest ?? null
    if (digest === told) return
    told = digest
    await onPolicy(policy)
  }
  const maintain = createMaintenance(device, { now, random, onError })
  let failures = 0
  let idle = 0
  let triedRenewal = false

  while (!signal.aborted) {
    await tell()
    let pause: number
    try {
      await maintain(signal)
      const asked = performance.now()
      const held = wait > 0 ? Math.max(1, Math.min(longestWait, Math.round(jitter(wait, random)))) : 0
      const { changed, pollSeconds } = await device.pollDigest({ wait: held, signal })
      idle = changed || performance.now() - asked > 1000 ? 0 : idle + 1
      if (changed || device.isBundleDue) await device.fetchBundle({ signal })
      failures = 0
      triedRenewal = false
      pause = wait > 0 && idle < patience ? 0 : jitter(pollSeconds, random)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ApiError && error.status === 401) {
        const outcome: Renewal = triedRenewal ? 'refused' : await tryRenewal(device, signal)
        if (outcome === 'refused') throw error
        triedRenewal = outcome === 'renewed'
      }
      onError?.(error)
      pause = backoffSeconds(++failures, error, random)
    }
    await tell()
    await sleep(untilEnd(device.policy, pause, now), signal).catch((error) => {
      if (!signal.aborted) throw error
    })
  }
}

/** Never sleeps past the end of the policy in force: somebody has to be told. */
function untilEnd(policy: DevicePolicy | null, pause: number, now: () => Date): number {
  return policy ? Math.min(pause, Math.max(0, (policy.expiresAt.getTime() - now().getTime()) / 1000)) : pause
}

type Renewal = 'renewed' | 'refused' | 'open'

/** A renewal that gets no answer, or fails for another reason, decides nothing. */
async function tryRenewal(device: Device, signal: AbortSignal): Promise<Renewal> {
  try {
    await device.renew({ signal })
    return 'renewed'
  } catch (error) {
    return error instanceof ApiError && error.status === 401 ? 'refused' : 'open'
  }
}

type Upkeep = { now: () => Date; random: Random; onError: ((error: unknown) => void) | undefined }

/** Renewal and trust, each when due. A failure is told and tried again later; polling goes on meanwhile. */
function createMaintenance(device: Device, { now, random, onError }: Upkeep) {
  let failures = 0
  let notBefore = 0
  return async (signal: AbortSignal): Promise<void> => {
    if (now().getTime() < notBefore) return
    try {
      if (device.isRenewalDue) await device.renew({ signal })
      if (device.isTrustDue) await device.refreshTrust({ signal })
      failures = 0
    } catch (error) {
      if (signal.aborted) throw error
      onError?.(error)
      notBefore = now().getTime() + backoffSeconds(++failures, error, random) * 1000
    }
  }
}
