import type { TenantId } from '../kernel/actor.ts'
import type { Moment } from './changes.ts'

type Followed = { moment: Moment; ahead: Map<number, number> | undefined }

/**
 * How far each tenant's change log was applied here. Commits of this replica are told at once and may be ahead of what
 * was heard from others; they count once everything before them was.
 */
export function createFollowed() {
  const tenants = new Map<TenantId, Followed>()
  return {
    of: (tenant: TenantId): Moment | undefined => tenants.get(tenant)?.moment,
    start: (tenant: TenantId, moment: Moment): void => {
      tenants.set(tenant, { moment, ahead: undefined })
    },
    applied: (tenant: TenantId, moment: Moment): void => {
      const f = tenants.get(tenant)
      if (!f || moment.seq <= f.moment.seq) return
      if (moment.seq > f.moment.seq + 1) {
        f.ahead ??= new Map()
        f.ahead.set(moment.seq, moment.atMs)
        return
      }
      f.moment = moment
      for (let next = f.moment.seq + 1; f.ahead?.has(next); next++) {
        f.moment = { seq: next, atMs: f.ahead.get(next)! }
        f.ahead.delete(next)
      }
      if (f.ahead?.size === 0) f.ahead = undefined
    },
    /** The newest number that was told here; what lies before it may be missing still. */
    newestOf: (tenant: TenantId): number => {
      const f = tenants.get(tenant)
      return f ? Math.max(f.moment.seq, ...(f.ahead?.keys() ?? [])) : 0
    },
    drop: (tenant: TenantId): void => {
      tenants.delete(tenant)
    },
    clear: (): void => tenants.clear(),
    tenants: () => tenants.keys(),
    count: () => tenants.size,
  }
}
