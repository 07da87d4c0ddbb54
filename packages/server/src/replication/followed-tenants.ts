import type { TenantId } from '../kernel/actor.ts'
import type { Moment } from './changes.ts'

type Followed = { position: Moment; ahead: Map<number, number> | undefined }
/** Number of tenants, sum of their sequence numbers, and the numbers of recently changed ones. */
type Sums = { tenants: number; seqs: number; recentTenants: readonly (readonly [TenantId, number, number])[] }

/**
 * Applied position of each tenant's change log. Commits of this replica are known at once and may be ahead of changes
 * from other replicas; they count once all before them are applied.
 */
export function createFollowedTenants() {
  const tenants = new Map<TenantId, Followed>()
  let seqs = 0
  /** Positions at the last snapshot of the tenants that have changed since; undefined: unknown then. */
  let since = new Map<TenantId, number | undefined>()

  const move = (tenant: TenantId, before: number | undefined, after: number | undefined): void => {
    if (!since.has(tenant)) since.set(tenant, before)
    seqs += (after ?? 0) - (before ?? 0)
  }
  const advance = (tenant: TenantId, f: Followed, position: Moment): void => {
    move(tenant, f.position.seq, position.seq)
    f.position = position
  }

  return {
    of: (tenant: TenantId): Moment | undefined => tenants.get(tenant)?.position,
    start: (tenant: TenantId, position: Moment): void => {
      move(tenant, tenants.get(tenant)?.position.seq, position.seq)
      tenants.set(tenant, { position, ahead: undefined })
    },
    applied: (tenant: TenantId, position: Moment): void => {
      const f = tenants.get(tenant)
      if (!f || position.seq <= f.position.seq) return
      if (position.seq > f.position.seq + 1) {
        f.ahead ??= new Map()
        f.ahead.set(position.seq, position.atMs)
        return
      }
      advance(tenant, f, position)
      for (let next = f.position.seq + 1; f.ahead?.has(next); next++) {
        advance(tenant, f, { seq: next, atMs: f.ahead.get(next)! })
        f.ahead.delete(next)
      }
      if (f.ahead?.size === 0) f.ahead = undefined
    },
    /** The newest number known here. Earlier ones may still be missing. */
    newestOf: (tenant: TenantId): number => {
      const f = tenants.get(tenant)
      return f ? Math.max(f.position.seq, ...(f.ahead?.keys() ?? [])) : 0
    },
    drop: (tenant: TenantId): void => {
      const known = tenants.get(tenant)
      if (!known) return
      move(tenant, known.position.seq, undefined)
      tenants.delete(tenant)
    },
    clear: (): void => {
      for (const [tenant, { position }] of tenants) move(tenant, position.seq, undefined)
      tenants.clear()
    },
    tenants: () => tenants.keys(),

    /** Known positions, for comparison with a later answer of the database. */
    snapshot: () => {
      const then = { tenants: tenants.size, seqs }
      since = new Map()
      const moved = since
      const knownThen = (tenant: TenantId) =>
        moved.has(tenant) ? moved.get(tenant) : tenants.get(tenant)?.position.seq
      return {
        /** True if all tenants other than the recently changed ones exist and are unchanged. */
        accountsFor: ({ tenants: count, seqs: sum, recentTenants }: Sums): boolean => {
          let expected = then.seqs
          let there = then.tenants
          for (const [tenant, seq] of recentTenants) {
            const known = knownThen(tenant)
            expected += seq - (known ?? 0)
            if (known === undefined) there++
          }
          return there === count && expected === sum
        },
      }
    },
  }
}
