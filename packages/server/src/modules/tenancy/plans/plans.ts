import type { Database } from '../../../db/database.ts'
import { mapUniqueViolation } from '../../../db/unique-violation.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { Audit } from '../../audit/index.ts'
import { withoutNulls } from './limits.ts'
import type { PlanFields, PlanRow } from './plans.queries.ts'
import * as queries from './plans.queries.ts'

/**
 * Named limits that many tenants share. Each addition reads them in its transaction, so a change takes effect at once.
 */
export function createTenantPlans({ db, audit, now }: { db: Database; audit: Audit; now: () => Date }) {
  const targetOf = (id: string, name: string) => ({ type: 'plan', id: encodeId('plan', id), name })
  const unlessTaken = <T>(work: () => Promise<T>) => mapUniqueViolation('name', 'plan_name_is_unique', work)
  const clean = ({ name, limits, features }: PlanFields): PlanFields => ({
    name,
    features,
    limits: withoutNulls(limits),
  })

  return {
    find: async ({ tenantId }: Actor, id: string): Promise<PlanRow> =>
      present(await db.inTenant(tenantId, (tx) => queries.findPlan(tx, id))),

    create: (actor: Actor, wanted: PlanFields): Promise<PlanRow> =>
      unlessTaken(() =>
        db.inTenant(actor.tenantId, async (tx) => {
          const id = newUuid()
          await queries.insertPlan(tx, id, clean(wanted), now())
          const target = targetOf(id, wanted.name)
          await audit.record(tx, actor, 'plan.created', { plan_id: target.id }, { target })
          return (await queries.findPlan(tx, id)) ?? missing('plan')
        }),
      ),

    /**
     * `allow` may refuse the change after it sees the stored row, under the lock. A change without effect is not
     * recorded.
     */
    replace: (actor: Actor, id: string, wanted: PlanFields, allow: (before: PlanRow) => void): Promise<PlanRow> =>
      unlessTaken(() =>
        db.inTenant(actor.tenantId, async (tx) => {
          const before = present(await queries.lockPlan(tx, id))
          allow(before)
          const next = clean(wanted)
          const changes = differences(before, next)
          if (Object.keys(changes).length === 0) return before
          await queries.updatePlan(tx, id, next, now())
          const target = targetOf(id, next.name)
          await audit.record(tx, actor, 'plan.updated', { plan_id: target.id }, { target, changes })
          return (await queries.findPlan(tx, id)) ?? missing('plan')
        }),
      ),

    remove: (actor: Actor, id: string, expected: ExpectedVersion): Promise<boolean> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const before = (await queries.lockPlan(tx, id)) ?? missing('plan')
        expected.require(before.deleted_at ? undefined : planVersion(before))
        if (before.deleted_at) return false
        if (before.tenants > 0)
          fail(
            'validation_error',
            `${before.tenants} tenants have the plan ${before.name}: assign another plan to them first`,
          )
        await queries.deletePlan(tx, id, now())
        const target = targetOf(id, before.name)
        await audit.record(tx, actor, 'plan.deleted', { plan_id: target.id }, { target })
        return true
      }),
  }
}
export type TenantPlans = ReturnType<typeof createTenantPlans>

const present = (plan: PlanRow | undefined): PlanRow => (plan && !plan.deleted_at ? plan : missing('plan'))

/** Returns the fields of a plan that its version (ETag) depends on. */
export const planVersion = ({ plan_id, name, limits, features }: PlanRow) => ({ plan_id, name, limits, features })
