import { backoffSeconds, jitter, type Random, sleep } from './backoff.ts'
import type { Device } from './device.ts'
import { ApiError, ConnectionError } from './errors.ts'
import type { DevicePolicy } from './policy-verifier.ts'

export type PollingOptions = {
  signal: AbortSignal
  /** Called with each policy that comes into force, the saved one first, and with null when the last good one has ended. */
  onPolicy: (policy: DevicePolicy | null) => void | Promise<void>
  /** Told of every failure that is survived: `VerificationError`, `ConnectionError`, `ApiError`. */
  onError?: (error: unknown) => void
  /** Seconds that the server may hold a request, ± 20 %; 240 unless said. 0 asks as often as the policy advises. */
  wait?: number
}

/** The longest hold the interface allows, and the shortest that is tried where something on the way cuts longer ones. */
const longestWait = 300
const shortestWait = 25
/** Answers in a row that may come back at once and unchanged before the server counts as one that does not hold them. */
const patience = 3
const defaultPollSeconds = 30

/**
 * Keeps the policy current until aborted, then settles: one request is held at the server until something changes. Renews
 * the credential when due and refreshes the trust set. A failure, also one of `onPolicy`, is told and tried again, each
 * time later; the policy stays in force until its own end. Rejects when the credential is refused and could not be renewed.
 */
export async function runPolling(
  device: Device,
  { signal, onPolicy, onError, wait = 240 }: PollingOptions,
  { now, random }: { now: () => Date; random: Random },
): Promise<void> {
  let told: string | null = null
  /** A policy counts as told once `onPolicy` has settled: what could not be applied is tried again. */
  const tell = async () => {
    const { policy } = device
    const digest = policy?.digest ?? null
    if (digest === told) return
    await onPolicy(policy)
    told = digest
  }
  const maintain = createMaintenance(device, { now, random, onError })
  let failures = 0
  let idle = 0
  let hold = Math.min(wait, longestWait)
  let triedRenewal = false

  while (!signal.aborted) {
    let pause = 0
    const asked = performance.now()
    const took = () => (performance.now() - asked) / 1000
    try {
      await tell()
      await maintain(signal)
      if (device.isConfirmed) {
        const before = device.policy
        const untilDue = (device.nextDue.getTime() - now().getTime()) / 1000
        await device.fetchBundle({ wait: Math.max(0, Math.floor(Math.min(jitter(hold, random), untilDue))), signal })
        idle = device.policy !== before || took() > 1 ? 0 : idle + 1
      } else {
        const { changed } = await device.pollDigest({ signal })
        if (changed || device.isBundleDue) await device.fetchBundle({ signal })
      }
      await tell()
      failures = 0
      triedRenewal = false
      if (hold === 0 || idle >= patience)
        pause = jitter(device.policy?.content.settings.poll_seconds ?? defaultPollSeconds, random)
    } catch (e) {
      if (signal.aborted) return
      if (e instanceof ApiError && e.status === 401) {
        const outcome: Renewal = triedRenewal ? 'refused' : await tryRenewal(device, signal)
        if (outcome === 'refused') throw e
        triedRenewal = outcome === 'renewed'
      }
      // A proxy or a NAT on the way that forgets quiet connections: ask to be answered before it does.
      if (e instanceof ConnectionError && took() > shortestWait) hold = Math.max(shortestWait, took() * 0.8)
      onError?.(e)
      pause = backoffSeconds(++failures, e, random)
    }
    await sleep(untilEnd(device.policy, pause, now), signal).catch((e) => {
      if (!signal.aborted) throw e
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
