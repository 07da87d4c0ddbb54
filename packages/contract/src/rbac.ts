import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import {
  Closed,
  EntryName,
  Id,
  List,
  ListQuery,
  NameOf,
  Nullable,
  OneOf,
  Reason,
  Time,
  Warnings,
  WasChanged,
} from './schema.ts'
import { User } from './users.ts'
import { permissions, roleNames } from './vocabulary.ts'

export const Grant = Closed(
  {
    user_id: Id('user'),
    username: EntryName,
    role: OneOf(roleNames),
    granted_by: Nullable(Type.String()),
    granted_by_name: NameOf('user or API key'),
    granted_at: Time,
  },
  { title: 'Grant' },
)

const changeGrant = {
  method: 'POST',
  access: { by: ['session', 'api_key'], permission: 'rbac:write' },
  body: Closed({ user_id: Id('user'), role: OneOf(roleNames), reason: Type.Optional(Reason) }),
} as const

export const grantRole = endpoint({
  ...changeGrant,
  path: '/v1/admin/rbac/grant',
  summary: 'Grant a role to a user',
  audit: 'role.granted',
  status: 201,
  stepUp: {},
  response: Closed({ grant: Grant, user: User, changed: WasChanged, warnings: Warnings }),
})

export const revokeRole = endpoint({
  ...changeGrant,
  path: '/v1/admin/rbac/revoke',
  summary: 'Revoke a role from a user',
  audit: 'role.revoked',
  response: Closed({ user: User, changed: WasChanged, warnings: Warnings }),
})

export const listRoles = endpoint({
  method: 'GET',
  path: '/v1/admin/rbac/roles',
  summary: 'List roles and their permissions',
  access: { by: ['session', 'api_key'], permission: 'rbac:read' },
  response: Closed({
    items: Type.Array(Closed({ role: OneOf(roleNames), permissions: Type.Array(OneOf(permissions)) })),
  }),
})

export const listGrants = endpoint({
  method: 'GET',
  path: '/v1/admin/rbac/grants',
  summary: 'List role grants',
  access: { by: ['session', 'api_key'], permission: 'rbac:read' },
  query: ListQuery(
    { user_id: Type.Optional(Id('user')), role: Type.Optional(OneOf(roleNames)) },
    ['granted_at'] as const,
    '-granted_at',
  ),
  response: List(Grant),
})
