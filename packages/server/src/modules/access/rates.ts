import type { SecuritySettings } from '@holdfast/contract/settings'
import type { TenantId } from '../../kernel/actor.ts'
import { createRateLimiter } from '../../kernel/rate-limit.ts'
import { whenReady } from '../../kernel/ready.ts'

/** Kinds of credentials whose requests are counted; an enrollment token has its uses. */
const setting = {
  session: 'requests_per_minute_per_session',
  api_key: 'requests_per_minute_per_key',
  device: 'requests_per_minute_per_device',
  gateway: 'requests_per_minute_per_gateway',
} as const
type Kind = keyof typeof setting
type Rated = { kind: Kind; tenantId: TenantId; id: string }

/** How often each credential may ask, as the tenant says it; each replica counts what it is asked itself. */
export function createRates(settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>) {
  const limiters = {
    session: createRateLimiter(),
    api_key: createRateLimiter(),
    device: createRateLimiter(200_000),
    gateway: createRateLimiter(),
  }
  const ask = (question: 'take' | 'peek', { kind, tenantId, id }: Rated): number | Promise<number> =>
    // A clock that is never set back or forward.
    whenReady(settings(tenantId), ({ api }) => limiters[kind][question](id, api[setting[kind]], performance.now()))

  return {
    /** Counts a request. Seconds to wait, 0 to pass. */
    take: (credential: Rated) => ask('take', credential),
    /** The same question about a request that is not counted. */
    peek: (credential: Rated) => ask('peek', credential),
  }
}
export type Rates = ReturnType<typeof createRates>
