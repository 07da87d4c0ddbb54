import { background, type Database } from '../../../db/database.ts'
import { jobSource, type TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import type { Audit } from '../../audit/index.ts'
import * as queries from './entitlement.queries.ts'

const batch = 5000

/** Jobs that keep the counters short and correct. */
export function createCounters({
  db,
  audit,
  log,
}: {
  db: Database
  audit: Audit
  log: { warn: (o: object, message: string) => void }
}) {
  /** Adds up the moves, and stores the peak of each hour. False if there may be more. */
  const foldSome = (tenant: TenantId): Promise<boolean> =>
    db.inTenant(
      tenant,
      async (tx) => {
        const used = await queries.lockCounters(tx, tenant)
        const moves = await queries.takeMoves(tx, tenant, batch)
        const levels = new Map<string, queries.Level>()
        for (const { metric, delta, hour } of moves) {
          const before = used.get(metric) ?? 0
          const after = before + delta
          used.set(metric, after)
          const key = `${metric} ${hour.toISOString()}`
          const known = levels.get(key) ?? { metric, hour, peak: before, used: before }
          levels.set(key, { ...known, peak: Math.max(known.peak, after), used: after })
        }
        if (moves.length > 0) {
          await queries.writeCounters(tx, tenant, used)
          await queries.writeLevels(tx, tenant, [...levels.values()])
        }
        return moves.length < batch
      },
      background,
    )

  return {
    /** Adds up the moves of every tenant that has some. Returns those tenants. */
    fold: async (): Promise<TenantId[]> => {
      const tenants = await db.acrossTenants(queries.tenantsWithMoves, background)
      await eachTenant(tenants, async (tenant) => {
        while (!(await foldSome(tenant)));
      })
      return tenants
    },

    /**
     * Compares the counters with the rows, in one snapshot, and corrects differences. There should be none, so each one
     * is audited and logged. Counting takes long, so the counters are locked only if something differs.
     */
    reconcile: async (tenants: readonly TenantId[]): Promise<number> => {
      let drifted = 0
      await eachTenant(tenants, (tenant) =>
        db.inTenant(
          tenant,
          async (tx) => {
            if ((await queries.driftOf(tx, tenant)).length === 0) return
            // Another replica may have corrected the same difference.
            await queries.lockCounters(tx, tenant)
            for (const { metric, counted, found } of await queries.driftOf(tx, tenant)) {
              drifted++
              await queries.insertMove(tx, tenant, metric, found - counted)
              const fields = { metric, counted, found }
              await audit.record(tx, jobSource(tenant, 'reconcile_entitlements'), 'entitlement.reconciled', fields)
              log.warn({ tenant, ...fields }, 'counter of a limit was wrong; corrected')
            }
          },
          background,
        ),
      )
      return drifted
    },
  }
}
