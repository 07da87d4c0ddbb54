import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Limits } from './entitlement-limits.ts'
import { deletionDelayDays } from './limits.ts'
import {
  Closed,
  Count,
  EntryName,
  Id,
  List,
  ListQuery,
  Nullable,
  OneOf,
  Prefix,
  Reason,
  Secret,
  Shown,
  Text,
  Time,
  WasChanged,
} from './schema.ts'
import { tenantStatuses } from './vocabulary.ts'

/** Prefix of usernames, and part of page addresses. RFC 1123 §2.1, in lower case. */
const TenantName = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
  description: 'Name of the tenant: lower-case letters, digits and hyphens',
  examples: ['acme'],
})
const PlanName = Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$' })

export const Tenant = Closed(
  {
    tenant_id: Id('tenant'),
    name: Type.String({ description: 'Prefix of usernames at sign-in: acme/jane' }),
    display_name: Type.String(),
    status: OneOf(tenantStatuses),
    plan_id: Nullable(Id('plan')),
    plan: Nullable(Type.String({ description: 'The name of its plan' })),
    limits: Limits,
    created_at: Time,
    updated_at: Time,
    suspended_at: Nullable(Time),
    delete_after: Nullable(Time),
  },
  { title: 'Tenant' },
)

export const listTenants = endpoint({
  method: 'GET',
  path: '/v1/admin/tenants',
  summary: 'List tenants',
  description: 'A platform role lists all tenants, other roles their own.',
  access: { by: ['session', 'api_key'], permission: 'tenants:read' },
  query: ListQuery(
    { status: Type.Optional(OneOf(tenantStatuses)), plan_id: Type.Optional(Id('plan')), q: Prefix },
    ['name', 'created_at'] as const,
    'name',
  ),
  response: List(Tenant),
})

export const getTenant = endpoint({
  method: 'GET',
  path: '/v1/admin/tenants/{tenant_id}',
  summary: 'Get a tenant',
  access: { by: ['session', 'api_key'], permission: 'tenants:read' },
  params: Closed({ tenant_id: Id('tenant') }),
  response: Tenant,
  etag: true,
})

const operations = ['create', 'update', 'suspend', 'reactivate', 'delete', 'cancel_deletion'] as const

export const changeTenant = endpoint({
  method: 'POST',
  path: '/v1/admin/tenants/lifecycle',
  summary: 'Create, update, suspend, reactivate or delete a tenant',
  description: 'A tenant is created with its first administrator, and deleted after a delay.',
  access: { by: ['session', 'api_key'], permission: 'by_operation' },
  operations: {
    create: { permission: 'tenants:write', status: 201 },
    update: { permission: 'tenants:write' },
    suspend: { permission: 'tenants:write' },
    reactivate: { permission: 'tenants:write' },
    delete: { permission: 'tenants:write' },
    cancel_deletion: { permission: 'tenants:write' },
  },
  audit: 'tenant.changed',
  errors: ['entitlement_exceeded'],
  stepUp: { operation: 'delete' },
  body: Closed({
    operation: OneOf(operations),
    tenant_id: Type.Optional(Id('tenant')),
    tenant: Type.Optional(
      Closed({
        name: Type.Optional(TenantName),
        display_name: Type.Optional(Type.String({ maxLength: 128 })),
        plan_id: Type.Optional(Nullable(Id('plan'))),
        limits: Type.Optional(Limits),
      }),
    ),
    administrator: Type.Optional(
      Closed(
        {
          username: EntryName,
          email: Type.Optional(Type.String({ minLength: 3, maxLength: 254, pattern: '^[^@\\s]+@[^@\\s]+$' })),
          display_name: Type.Optional(Text),
          password: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, writeOnly: true })),
        },
        {
          description:
            'First administrator of a new tenant. Without a password a temporary one is generated, which expires',
        },
      ),
    ),
    delay_seconds: Type.Optional(
      Type.Integer({
        minimum: 3600,
        maximum: 90 * 86_400,
        description: `Time until it is deleted; default: ${deletionDelayDays} days`,
      }),
    ),
    reason: Type.Optional(Reason),
  }),
  response: Closed({
    operation: Type.String(),
    changed: WasChanged,
    tenant: Tenant,
    administrator: Nullable(
      Closed({
        user_id: Id('user'),
        username: EntryName,
        secret: Nullable(Secret),
        expires_at: Nullable(Time),
      }),
    ),
  }),
  ifMatch: true,
})

const planFields = {
  name: PlanName,
  limits: Limits,
  features: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 64, uniqueItems: true }),
}
export const Plan = Closed(
  {
    plan_id: Id('plan'),
    ...planFields,
    tenants: Count,
    created_at: Time,
    updated_at: Time,
  },
  { title: 'Plan' },
)
const planParams = Closed({ plan_id: Id('plan') })
const platform = { by: ['session', 'api_key'], permission: 'tenants:write' } as const

export const listPlans = endpoint({
  method: 'GET',
  path: '/v1/admin/plans',
  summary: 'List plans',
  description: 'Each has the number of tenants that have it.',
  access: platform,
  query: ListQuery({ q: Prefix }, ['name', 'created_at'] as const, 'name'),
  response: List(Plan),
})

export const createPlan = endpoint({
  method: 'POST',
  path: '/v1/admin/plans',
  summary: 'Create a plan',
  description: 'A plan has limits that many tenants share.',
  access: platform,
  audit: 'plan.created',
  status: 201,
  body: Closed(planFields),
  response: Plan,
})

export const getPlan = endpoint({
  method: 'GET',
  path: '/v1/admin/plans/{plan_id}',
  summary: 'Get a plan',
  access: platform,
  params: planParams,
  response: Plan,
  etag: true,
})

export const updatePlan = endpoint({
  method: 'PUT',
  path: '/v1/admin/plans/{plan_id}',
  summary: 'Replace a plan',
  description: 'Its limits apply to every tenant with the plan, and to everything that is added from then on.',
  access: platform,
  audit: 'plan.updated',
  params: planParams,
  body: Closed({ ...Shown(Plan), ...planFields }),
  response: Plan,
  ifMatch: true,
})

export const deletePlan = endpoint({
  method: 'DELETE',
  path: '/v1/admin/plans/{plan_id}',
  summary: 'Delete a plan that no tenant has',
  access: platform,
  audit: 'plan.deleted',
  params: planParams,
  response: Closed({ changed: WasChanged }),
  ifMatch: true,
})
