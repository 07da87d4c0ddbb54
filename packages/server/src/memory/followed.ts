import type { TenantId } from '../kernel/actor.ts'
import type { Moment } from './changes.ts'

type Followed = { moment: Moment; ahead: Map<number, number> | undefined }
/** How many tenants there are, the sum of their numbers, and the numbers of those that changed lately. */
type Sums = { tenants: number; seqs: number; lately: readonly (readonly [TenantId, number, number])[] }

/**
 * How far each tenant's change log was applied here. Commits of this replica are told at once and may be ahead of what
 * was heard from others; they count once everything before them was.
 */
export function createFollowed() {
  const tenants = new Map<TenantId, Followed>()
  let seqs = 0
  /** What was known as the last snapshot was taken, of those that have moved since; undefined: not known then. */
  let since = new Map<TenantId, number | undefined>()

  const move = (tenant: TenantId, before: number | undefined, after: number | undefined): void => {
    if (!since.has(tenant)) since.set(tenant, before)
    seqs += (after ?? 0) - (before ?? 0)
  }
  const advance = (tenant: TenantId, f: Followed, moment: Moment): void => {
    move(tenant, f.moment.seq, moment.seq)
    f.moment = moment
  }

  return {
    of: (tenant: TenantId): Moment | undefined => tenants.get(tenant)?.moment,
    start: (tenant: TenantId, moment: Moment): void => {
      move(tenant, tenants.get(tenant)?.moment.seq, moment.seq)
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
      advance(tenant, f, moment)
      for (let next = f.moment.seq + 1; f.ahead?.has(next); next++) {
        advance(tenant, f, { seq: next, atMs: f.ahead.get(next)! })
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
      const known = tenants.get(tenant)
      if (!known) return
      move(tenant, known.moment.seq, undefined)
      tenants.delete(tenant)
    },
    clear: (): void => {
      for (const [tenant, { moment }] of tenants) move(tenant, moment.seq, undefined)
      tenants.clear()
    },
    tenants: () => tenants.keys(),

    /** What is known now, to be compared with what the database says a moment later. */
    snapshot: () => {
      const then = { tenants: tenants.size, seqs }
      since = new Map()
      const moved = since
      const knownThen = (tenant: TenantId) => (moved.has(tenant) ? moved.get(tenant) : tenants.get(tenant)?.moment.seq)
      return {
        /** Whether all tenants but those that changed lately are there as they were. */
        accountsFor: ({ tenants: count, seqs: sum, lately }: Sums): boolean => {
          let expected = then.seqs
          let there = then.tenants
          for (const [tenant, seq] of lately) {
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
