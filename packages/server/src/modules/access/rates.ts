import type { SecuritySettings } from '@holdfast/contract/settings'
import type { TenantId } from '../../kernel/actor.ts'
import { createRateLimiter, secondsToWait, usedByMore } from '../../kernel/rate-limit.ts'
import { whenReady } from '../../kernel/ready.ts'

/** Kinds of credentials whose requests are counted; an enrollment token has its uses, and a device counts its own. */
const setting = {
  session: 'requests_per_minute_per_session',
  api_key: 'requests_per_minute_per_key',
  gateway: 'requests_per_minute_per_gateway',
} as const
type Rated = { kind: keyof typeof setting; tenantId: TenantId; id: string }
/** What a device has used stands with the device, so that none costs another its count. */
type RatedDevice = { readonly tenantId: TenantId; usedUntil: number }

/**
 * How often each credential may ask, as the tenant says it; each replica counts what it is asked itself, by a clock
 * that is never set back or forward. Answers are the seconds to wait, 0 to pass.
 */
export function createRates(settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>) {
  const limiters = { session: createRateLimiter(), api_key: createRateLimiter(), gateway: createRateLimiter() }

  const askDevice = (device: RatedDevice, isTaken: boolean): number | Promise<number> =>
    whenReady(settings(device.tenantId), ({ api: { requests_per_minute_per_device: perMinute } }) => {
      const nowMs = performance.now()
      const wait = secondsToWait(device.usedUntil, perMinute, nowMs)
      if (isTaken && wait === 0) device.usedUntil = usedByMore(device.usedUntil, perMinute, nowMs)
      return wait
    })

  return {
    /** Counts a request. */
    take: ({ kind, tenantId, id }: Rated): number | Promise<number> =>
      whenReady(settings(tenantId), ({ api }) => limiters[kind].take(id, api[setting[kind]], performance.now())),
    takeOfDevice: (device: RatedDevice) => askDevice(device, true),
    /** The same question about a request that is not counted: for what is to be refused before it costs anything. */
    peekOfDevice: (device: RatedDevice) => askDevice(device, false),
  }
}
export type Rates = ReturnType<typeof createRates>
