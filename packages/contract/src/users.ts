import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import {
  Closed,
  CountedList,
  countQuery,
  EntryName,
  Id,
  Ids,
  ListQuery,
  NamesOf,
  Nullable,
  OneOf,
  Prefix,
  Reason,
  Time,
  Warnings,
  WasChanged,
} from './schema.ts'
import { roleNames } from './vocabulary.ts'

const Username = Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\s/\\u0000-\\u001f]+$' })
const Email = Type.String({ minLength: 3, maxLength: 254, pattern: '^[^@\\s]+@[^@\\s]+$' })

const Kind = OneOf(['person', 'service'], {
  description: '`service`: a service account. It has no password and no sign-in, but may have roles and own API keys',
})

export const Mfa = Closed({ enabled: Type.Boolean(), enrolled_at: Nullable(Time) })

export const User = Closed(
  {
    user_id: Id('user'),
    tenant_id: Id('tenant'),
    kind: Kind,
    username: EntryName,
    email: Nullable(Type.String()),
    display_name: Type.String(),
    status: OneOf(['active', 'suspended']),
    locked_until: Nullable(Time),
    source: OneOf(['local', 'directory', 'sso']),
    external_id: Nullable(Type.String({ description: 'Permanent id in its directory' })),
    roles: Type.Array(OneOf(roleNames)),
    group_ids: Type.Array(Id('group')),
    group_names: NamesOf('groups'),
    device_count: Type.Integer({ minimum: 0, description: 'Devices that are not revoked; counted up to 1,000' }),
    mfa: Mfa,
    password_set: Type.Boolean({ description: 'True: the user has a password' }),
    break_glass: Type.Boolean({
      description: 'True: the user may sign in with a password while `login.enforce_sso` is on',
    }),
    created_at: Time,
    updated_at: Time,
    last_login_at: Nullable(Time),
  },
  { title: 'User' },
)

export const userFilters = {
  q: Prefix,
  kind: Type.Optional(Kind),
  status: Type.Optional(OneOf(['active', 'suspended'])),
  source: Type.Optional(OneOf(['local', 'directory', 'sso'])),
  role: Type.Optional(OneOf(roleNames)),
  mfa: Type.Optional(
    Type.Boolean({ description: 'true: only users with a second factor. false: only users without one' }),
  ),
  locked: Type.Optional(
    Type.Boolean({
      description: 'true: only users that are locked after failed sign-ins (`locked_until`). false: only others',
    }),
  ),
  group_id: Type.Optional(Id('group')),
  has_devices: Type.Optional(
    Type.Boolean({ description: 'true: only users with a device that is not revoked. false: only others' }),
  ),
}

export const listUsers = endpoint({
  method: 'GET',
  path: '/v1/admin/users',
  summary: 'List users',
  access: { by: ['session', 'api_key'], permission: 'users:read' },
  query: ListQuery({ ...userFilters, ...countQuery }, ['username', 'created_at', 'last_login_at'] as const, 'username'),
  response: CountedList(User),
})

export const getUser = endpoint({
  method: 'GET',
  path: '/v1/admin/users/{user_id}',
  summary: 'Get a user',
  access: { by: ['session', 'api_key'], permission: 'users:read' },
  params: Closed({ user_id: Id('user') }),
  response: User,
  etag: true,
})

export const setBreakGlass = endpoint({
  method: 'POST',
  path: '/v1/admin/users/break-glass',
  summary: 'Set whether a user is a break-glass user',
  description:
    'A break-glass user signs in with a password while `login.enforce_sso` is on. The last break-glass administrator cannot be removed.',
  access: { by: ['session', 'api_key'], permission: 'rbac:write' },
  audit: 'user.break_glass_changed',
  stepUp: {},
  body: Closed({ user_id: Id('user'), break_glass: Type.Boolean(), reason: Type.Optional(Reason) }),
  response: Closed({ user: User, changed: WasChanged }),
  ifMatch: true,
})

const Changed = Closed({
  operation: Type.String(),
  changed: WasChanged,
  user: User,
  sessions_terminated: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Number of admin and VPN sessions that this call ended; only for suspend and delete',
    }),
  ),
  warnings: Warnings,
})

export const changeUser = endpoint({
  method: 'POST',
  path: '/v1/admin/users/lifecycle',
  summary: 'Create, update, suspend, reactivate, unlock or delete a user',
  access: { by: ['session', 'api_key'], permission: 'by_operation' },
  operations: {
    create: { permission: 'users:write', status: 201 },
    update: { permission: 'users:write' },
    suspend: { permission: 'users:write' },
    reactivate: { permission: 'users:write' },
    unlock: { permission: 'credentials:write' },
    delete: { permission: 'users:write' },
  },
  fieldPermissions: { 'user.group_ids': 'groups:write' },
  audit: 'user.changed',
  errors: ['entitlement_exceeded'],
  body: Closed({
    operation: OneOf(['create', 'update', 'suspend', 'reactivate', 'unlock', 'delete']),
    user_id: Type.Optional(Id('user')),
    user: Type.Optional(
      Closed({
        kind: Type.Optional(Kind),
        username: Type.Optional(Username),
        email: Type.Optional(Nullable(Email)),
        display_name: Type.Optional(Type.String({ maxLength: 256 })),
        group_ids: Type.Optional(Ids('group')),
      }),
    ),
    reason: Type.Optional(Reason),
  }),
  response: Changed,
  ifMatch: true,
})

/** Same effect and answer as the operation of the same name of `lifecycle`. */
const moveUser = {
  method: 'POST',
  audit: 'user.changed',
  body: Closed({ user_id: Id('user'), reason: Type.Optional(Reason) }),
  response: Changed,
  ifMatch: true,
} as const

export const suspendUser = endpoint({
  ...moveUser,
  path: '/v1/admin/users/suspend',
  summary: 'Suspend a user',
  description: 'The admin and VPN sessions of the user end. The devices have no access until the user is reactivated.',
  access: { by: ['session', 'api_key'], permission: 'users:write' },
})

export const reactivateUser = endpoint({
  ...moveUser,
  path: '/v1/admin/users/reactivate',
  summary: 'Reactivate a suspended user',
  description: 'Devices that were not revoked work again.',
  access: { by: ['session', 'api_key'], permission: 'users:write' },
  errors: ['entitlement_exceeded'],
})

export const unlockUser = endpoint({
  ...moveUser,
  path: '/v1/admin/users/unlock',
  summary: 'Unlock a user after failed sign-ins',
  access: { by: ['session', 'api_key'], permission: 'credentials:write' },
})
