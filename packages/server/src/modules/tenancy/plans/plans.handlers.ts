import type { Database } from '../../../db/database.ts'
import type { Pager } from '../../../db/page.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { requireSame, versioned } from '../../../kernel/version.ts'
import { type PlanRow, selectPlans } from './plans.queries.ts'
import { planVersion, type TenantPlans } from './plans.ts'

export const planHandlers = ({ db, pager, plans }: { db: Database; pager: Pager; plans: TenantPlans }) =>
  ({
    listPlans: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const found = await pager.list(selectPlans(tx, query.q), {
          operation: 'listPlans',
          tenant: actor.tenantId,
          query,
          orders: { name: { column: 'name', kind: 'text' }, created_at: { column: 'created_at', kind: 'time' } },
          tie: 'plan_id',
        })
        return { items: found.items.map(view), next_cursor: found.next_cursor }
      }),
    createPlan: async ({ actor, body }) => view(await plans.create(actor, body)),
    getPlan: async ({ actor, params }) => shown(await plans.find(actor, idOf('plan', params.plan_id))),
    updatePlan: async ({ actor, params, body, expected }) => {
      const { name, limits, features } = body
      const fields = { name, limits, features }
      return shown(
        await plans.replace(actor, idOf('plan', params.plan_id), fields, (before) => {
          expected.require(planVersion(before))
          requireSame(view(before), body, ['plan_id', 'created_at'])
        }),
      )
    },
    deletePlan: async ({ actor, params, expected }) => ({
      changed: await plans.remove(actor, idOf('plan', params.plan_id), expected),
    }),
  }) satisfies Partial<Handlers>

const shown = (plan: PlanRow) => versioned(planVersion(plan), view(plan))
const view = (plan: PlanRow) => ({
  plan_id: encodeId('plan', plan.plan_id),
  name: plan.name,
  limits: plan.limits,
  features: plan.features,
  tenants: plan.tenants,
  created_at: plan.created_at.toISOString(),
  updated_at: plan.updated_at.toISOString(),
})
