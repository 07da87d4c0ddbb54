import type { TenantId } from '../../../kernel/actor.ts'
import { AppError } from '../../../kernel/app-error.ts'

const mostOfTenant = 2
const mostOfAll = 32

/** Limits concurrent exports. Each holds memory for as long as its client likes. */
export function createPlaces() {
  const taken = new Map<TenantId, number>()
  let all = 0
  return {
    /** Takes one slot, until `ended` aborts. Throws 429 if none is free. */
    take: (tenant: TenantId, ended: AbortSignal): void => {
      const own = taken.get(tenant) ?? 0
      if (own >= mostOfTenant || all >= mostOfAll)
        throw new AppError('rate_limited', 'the maximum number of exports of this tenant is running: try again later', {
          retryAfterSeconds: 10,
        })
      if (ended.aborted) return
      taken.set(tenant, own + 1)
      all++
      ended.addEventListener('abort', () => {
        all--
        const left = (taken.get(tenant) ?? 1) - 1
        if (left > 0) taken.set(tenant, left)
        else taken.delete(tenant)
      })
    },
  }
}
