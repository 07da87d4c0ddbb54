import { sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { hasPrefix } from '../../../db/page.ts'
import type { StoredLimits } from '../../../db/tables/tenancy.ts'

/** Locks a plan against deletion until commit. True if it exists. */
export const holdPlan = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx
    .selectFrom('plans')
    .select('plan_id')
    .where('plan_id', '=', id)
    .where('deleted_at', 'is', null)
    .forKeyShare()
    .executeTakeFirst()) !== undefined

const columns = ['plan_id', 'name', 'limits', 'features', 'created_at', 'updated_at', 'deleted_at'] as const
/** Plans belong to no tenant. */
const selectAny = (tx: Tx) =>
  tx.selectFrom('plans').select(columns).select(sql<number>`tenants_with_plan(plan_id)`.as('tenants'))
export const selectPlans = (tx: Tx, prefix?: string) => {
  const q = selectAny(tx).where('deleted_at', 'is', null)
  return prefix === undefined ? q : q.where(hasPrefix('name_key', prefix))
}
/** Also finds deleted plans, whose rows stay. */
export const findPlan = (tx: Tx, id: string) => selectAny(tx).where('plan_id', '=', id).executeTakeFirst()
export type PlanRow = NonNullable<Awaited<ReturnType<typeof findPlan>>>

/**
 * Locks a plan until commit, so that no other transaction changes it or assigns it to a tenant. Reads it after the
 * lock.
 */
export const lockPlan = async (tx: Tx, id: string): Promise<PlanRow | undefined> => {
  await tx.selectFrom('plans').select('plan_id').where('plan_id', '=', id).forUpdate().execute()
  return findPlan(tx, id)
}

export type PlanFields = { name: string; limits: StoredLimits; features: readonly string[] }
const stored = ({ name, limits, features }: PlanFields, at: Date) => ({
  name,
  limits: JSON.stringify(limits),
  features: [...features],
  updated_at: at,
})
export const insertPlan = (tx: Tx, id: string, fields: PlanFields, at: Date) =>
  tx
    .insertInto('plans')
    .values({ plan_id: id, ...stored(fields, at), created_at: at })
    .execute()
export const updatePlan = (tx: Tx, id: string, fields: PlanFields, at: Date) =>
  tx.updateTable('plans').set(stored(fields, at)).where('plan_id', '=', id).execute()
/** True for the one call that deleted the plan. */
export const deletePlan = (tx: Tx, id: string, at: Date): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('plans')
      .set({ deleted_at: at, updated_at: at })
      .where('plan_id', '=', id)
      .where('deleted_at', 'is', null)
      .returning('plan_id'),
  )
