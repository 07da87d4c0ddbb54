import type { SecuritySettings } from '@holdfast/contract/settings'
import type { TenantId } from '../../kernel/actor.ts'
import { DeviceThrottled } from '../../kernel/app-error.ts'
import { createRateLimiter, type RateLimit, rateLimitOf, secondsToWait, usedByMore } from '../../kernel/rate-limit.ts'
import { whenReady } from '../../kernel/ready.ts'

/** Kinds of credentials whose requests are counted; an enrollment token has its uses, and a device counts its own. */
const setting = {
  session: 'requests_per_minute_per_session',
  api_key: 'requests_per_minute_per_key',
  gateway: 'requests_per_minute_per_gateway',
} as const
type Rated = { kind: keyof typeof setting; tenantId: TenantId; id: string }
/** What a device has used stands with the device, so that none costs another its count. */
type RatedDevice = { readonly tenantId: TenantId; readonly deviceId: string; readonly name: string; usedUntil: number }

/**
 * How often each credential may ask, as the tenant says it; each replica counts what it is asked itself, by a clock
 * that is never set back or forward. Answers are the seconds to wait, 0 to pass.
 */
export function createRates(settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>) {
  const limiters = { session: createRateLimiter(), api_key: createRateLimiter(), gateway: createRateLimiter() }

  const askDevice = (device: RatedDevice, isTaken: boolean): void | Promise<void> =>
    whenReady(settings(device.tenantId), ({ api: { requests_per_minute_per_device: perMinute } }) => {
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
      whenReady(settings(tenantId), ({ api }) => limiters[kind].take(id, api[setting[kind]], performance.now())),
    /** What is left to a credential; undefined while its settings are not in memory. */
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
    /** Throws 429 where a device has to wait. */
    takeOfDevice: (device: RatedDevice) => askDevice(device, true),
    /** The same question about a request that is not counted: for what is to be refused before it costs anything. */
    peekOfDevice: (device: RatedDevice) => askDevice(device, false),
  }
}
export type Rates = ReturnType<typeof createRates>
