import type { SecuritySettings } from '@holdfast/contract/settings'
import type { TenantId } from '../../kernel/actor.ts'
import { DeviceThrottled } from '../../kernel/app-error.ts'
import { mapMaybePromise } from '../../kernel/maybe-promise.ts'
import { createRateLimiter, type RateLimit, rateLimitOf, secondsToWait, usedByMore } from '../../kernel/rate-limit.ts'

/**
 * Credential types with a request limit of their own. Enrollment tokens are limited by their uses, and devices are
 * counted separately.
 */
const setting = {
  session: 'requests_per_minute_per_session',
  api_key: 'requests_per_minute_per_key',
  gateway: 'requests_per_minute_per_gateway',
} as const
type Rated = { kind: keyof typeof setting; tenantId: TenantId; id: string }
/** `usedUntil` is kept with the device, so that no device can evict another one's count. */
type RatedDevice = { readonly tenantId: TenantId; readonly deviceId: string; readonly name: string; usedUntil: number }

/**
 * Request limits of each credential, as set by the tenant. Each replica counts its own requests, with a monotonic
 * clock. Results are seconds to wait; 0 means allowed.
 */
export function createRates(settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>) {
  const limiters = { session: createRateLimiter(), api_key: createRateLimiter(), gateway: createRateLimiter() }

  const askDevice = (device: RatedDevice, isTaken: boolean): void | Promise<void> =>
    mapMaybePromise(settings(device.tenantId), ({ api: { requests_per_minute_per_device: perMinute } }) => {
      const nowMs = performance.now()
      const wait = secondsToWait(device.usedUntil, perMinute, nowMs)
      if (wait > 0) {
        const rateLimit = rateLimitOf('device', device.usedUntil, perMinute, nowMs)
        throw new DeviceThrottled(device, wait, rateLimit)
      }
      if (isTaken) device.usedUntil = usedByMore(device.usedUntil, perMinute, nowMs)
    })

  return {
    /** Counts a request. */
    take: ({ kind, tenantId, id }: Rated): number | Promise<number> =>
      mapMaybePromise(settings(tenantId), ({ api }) => limiters[kind].take(id, api[setting[kind]], performance.now())),
    /** Remaining requests of a credential. Undefined while the tenant's settings are not loaded. */
    limitOf: ({ kind, tenantId, id }: Rated): RateLimit | undefined => {
      const known = settings(tenantId)
      if (known instanceof Promise) return void known.catch(() => {})
      return limiters[kind].limitOf(kind, id, known.api[setting[kind]], performance.now())
    },
    limitOfDevice: ({ tenantId, usedUntil }: Pick<RatedDevice, 'tenantId' | 'usedUntil'>): RateLimit | undefined => {
      const known = settings(tenantId)
      if (known instanceof Promise) return void known.catch(() => {})
      return rateLimitOf('device', usedUntil, known.api.requests_per_minute_per_device, performance.now())
    },
    /** Counts a request of a device. Throws 429 if the device has to wait. */
    takeOfDevice: (device: RatedDevice) => askDevice(device, true),
    /** Checks the limit without counting the request, to refuse one before it costs anything. */
    peekOfDevice: (device: RatedDevice) => askDevice(device, false),
  }
}
export type Rates = ReturnType<typeof createRates>
