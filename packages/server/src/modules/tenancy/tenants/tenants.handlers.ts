import type { Database, Tx } from '../../../db/database.ts'
import type { Pager } from '../../../db/page.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { failField } from '../../../kernel/app-error.ts'
import { decodeId, encodeId, idOf, missing } from '../../../kernel/ids.ts'
import { versioned } from '../../../kernel/version.ts'
import { onlyOwn, tenantOf } from '../tenant-id.ts'
import { type TenantLifecycle, tenantVersion } from './lifecycle.ts'
import { findTenant, readInOrder, selectTenants, type TenantRow } from './tenants.queries.ts'

const orders = {
  name: { column: 'name', kind: 'text' },
  created_at: { column: 'created_at', kind: 'time' },
} as const

export function tenantHandlers({ db, pager, lifecycle }: { db: Database; pager: Pager; lifecycle: TenantLifecycle }) {
  return {
    listTenants: ({ actor, query }) => {
      const only = onlyOwn(actor)
      const list = async (tx: Tx) => {
        if (only === undefined) await readInOrder(tx)
        const { q, status, plan_id, ...page } = query
        const filter = {
          ...(q !== undefined && { q }),
          ...(status && { status }),
          ...(plan_id !== undefined && { plan_id: idOf('plan', plan_id) }),
        }
        const found = await pager.list(selectTenants(tx, only, filter), {
          operation: 'listTenants',
          tenant: only ?? actor.tenantId,
          query: { ...page, ...filter, all: only === undefined },
          orders,
          tie: 'tenant_id',
        })
        return { items: found.items.map(view), next_cursor: found.next_cursor }
      }
      return only === undefined ? db.acrossTenants(list) : db.inTenant(only, list)
    },

    getTenant: async ({ actor, params }) => {
      const id = tenantOf(actor, params.tenant_id)
      const row = await db.inTenant(id, (tx) => findTenant(tx, id))
      if (!row || row.status === 'deleted') return missing('tenant')
      return versioned(tenantVersion(row), view(row))
    },

    changeTenant: async ({ actor, body, expected }) => {
      const { operation, reason, tenant = {}, administrator, delay_seconds: delaySeconds } = body
      if (operation !== 'create' && administrator) failField('administrator', 'is allowed only with create')
      if (operation !== 'delete' && delaySeconds !== undefined)
        failField('delay_seconds', 'is allowed only with delete')
      if (operation !== 'create' && operation !== 'update' && body.tenant)
        failField('tenant', `is not allowed with ${operation}`)
      const { plan_id, ...others } = tenant
      const planId = plan_id && (decodeId('plan', plan_id) ?? failField('tenant.plan_id', 'no such plan'))
      const fields = { ...others, ...(planId !== undefined && { plan_id: planId }) }
      const change = () => {
        if (operation === 'create') {
          if (body.tenant_id !== undefined)
            failField('tenant_id', 'is assigned by the server: leave it out to create a tenant')
          expected.require(undefined)
          const name = tenant.name ?? failField('tenant.name', 'is required to create a tenant')
          return lifecycle.create(actor, { ...fields, name }, administrator, reason)
        }
        const named = body.tenant_id ?? failField('tenant_id', `is required to ${operation} a tenant`)
        const id = tenantOf(actor, named)
        if (operation === 'update') {
          if (!body.tenant) failField('tenant', 'is required to update a tenant')
          return lifecycle.update(actor, id, fields, { reason, expected })
        }
        const when = delaySeconds === undefined ? {} : { delaySeconds }
        return lifecycle.move(actor, operation, id, { reason, expected, ...when })
      }
      const { changed, tenant: row, administrator: made } = await change()
      return {
        operation,
        changed,
        tenant: view(row),
        administrator: made && {
          user_id: encodeId('user', made.userId),
          username: made.username,
          secret: made.temporary?.password ?? null,
          expires_at: made.temporary?.expiresAt.toISOString() ?? null,
        },
      }
    },
  } satisfies Partial<Handlers>
}

const view = (t: TenantRow) => ({
  tenant_id: encodeId('tenant', t.tenant_id),
  name: t.name,
  display_name: t.display_name,
  status: t.status === 'deleted' ? missing('tenant') : t.status,
  plan_id: t.plan_id && encodeId('plan', t.plan_id),
  plan: t.plan,
  limits: t.limits,
  created_at: t.created_at.toISOString(),
  updated_at: t.updated_at.toISOString(),
  suspended_at: t.suspended_at?.toISOString() ?? null,
  delete_after: t.delete_after?.toISOString() ?? null,
})
