import { Type } from 'typebox'
import { OneTimeCode } from './access.ts'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Id, Ids, List, ListQuery, Name, Nullable, OneOf, Prefix, Reason, Text, Time } from './schema.ts'
import { permissions, roleNames } from './vocabulary.ts'

const Username = Type.String({ minLength: 1, maxLength: 128, pattern: '^[^\\s/\\u0000-\\u001f]+$' })
const Email = Type.String({ minLength: 3, maxLength: 254, pattern: '^[^@\\s]+@[^@\\s]+$' })

const Kind = OneOf(['person', 'service'], {
  description: 'A service account has no password and no sign-in: it holds roles, and may own API keys',
})

const Mfa = Closed({ enabled: Type.Boolean(), enrolled_at: Nullable(Time) })

export const User = Closed(
  {
    user_id: Id('user'),
    tenant_id: Id('tenant'),
    kind: Kind,
    username: Name,
    email: Nullable(Type.String()),
    display_name: Type.String(),
    status: OneOf(['active', 'suspended']),
    locked_until: Nullable(Time),
    source: OneOf(['local', 'directory', 'sso']),
    roles: Type.Array(OneOf(roleNames)),
    group_ids: Type.Array(Id('group')),
    mfa: Mfa,
    password_set: Type.Boolean(),
    created_at: Time,
    updated_at: Time,
    last_login_at: Nullable(Time),
  },
  { title: 'User' },
)

export const listUsers = endpoint({
  method: 'GET',
  path: '/v1/admin/users',
  summary: 'List users',
  access: { by: ['session', 'api_key'], permission: 'users:read' },
  query: ListQuery(
    {
      q: Prefix,
      kind: Type.Optional(Kind),
      status: Type.Optional(OneOf(['active', 'suspended'])),
      source: Type.Optional(OneOf(['local', 'directory', 'sso'])),
      role: Type.Optional(OneOf(roleNames)),
      mfa: Type.Optional(Type.Boolean({ description: 'Only users with, or without, a second factor' })),
      group_id: Type.Optional(Id('group')),
    },
    ['username', 'created_at'] as const,
  ),
  response: List(User),
})

export const getUser = endpoint({
  method: 'GET',
  path: '/v1/admin/users/{user_id}',
  summary: 'One user',
  access: { by: ['session', 'api_key'], permission: 'users:read' },
  params: Closed({ user_id: Id('user') }),
  response: User,
  etag: true,
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
  audit: 'user.changed',
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
  response: Closed({ operation: Type.String(), changed: Type.Boolean(), user: User }),
  ifMatch: true,
})

const moveUser = {
  method: 'POST',
  audit: 'user.changed',
  body: Closed({ user_id: Id('user'), reason: Type.Optional(Reason) }),
} as const

export const suspendUser = endpoint({
  ...moveUser,
  path: '/v1/admin/users/suspend',
  summary: 'Suspend a user: admin and VPN sessions end, and the devices stop until the user is reactivated',
  access: { by: ['session', 'api_key'], permission: 'users:write' },
  response: Closed({
    user: User,
    changed: Type.Boolean(),
    sessions_terminated: Type.Integer({ minimum: 0, description: 'Admin and VPN sessions that this call ended' }),
  }),
  ifMatch: true,
})

export const reactivateUser = endpoint({
  ...moveUser,
  path: '/v1/admin/users/reactivate',
  summary: 'Reactivate a suspended user; devices that were not revoked work again',
  access: { by: ['session', 'api_key'], permission: 'users:write' },
  response: Closed({ user: User, changed: Type.Boolean() }),
  ifMatch: true,
})

export const unlockUser = endpoint({
  ...moveUser,
  path: '/v1/admin/users/unlock',
  summary: 'Unlock an account that failed sign-ins have locked',
  access: { by: ['session', 'api_key'], permission: 'credentials:write' },
  response: Closed({ user: User, changed: Type.Boolean() }),
  ifMatch: true,
})

export const changePassword = endpoint({
  method: 'POST',
  path: '/v1/admin/users/password',
  summary: 'Change the own password; with credentials:write set that of another user, or generate a temporary one',
  access: { by: ['session', 'api_key'], permission: 'own', during: ['change_password'] },
  audit: 'user.password_changed',
  setsCookie: true,
  body: Closed({
    user_id: Type.Optional(Id('user')),
    new_password: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
    generate: Type.Optional(Type.Boolean()),
    current_password: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
  }),
  response: Closed({
    user: User,
    changed: Type.Boolean(),
    sessions_terminated: Type.Integer({ minimum: 0 }),
    temporary_password: Type.Optional(
      Type.String({ description: 'Shown once; opens one session, which must set a new password' }),
    ),
    expires_at: Type.Optional(Time),
  }),
})

export const enrollTotp = endpoint({
  method: 'POST',
  path: '/v1/admin/users/totp/enroll',
  summary: 'Start TOTP enrollment, for oneself or with credentials:write for another user',
  access: { by: ['session', 'api_key'], permission: 'own', during: ['enroll_mfa'] },
  audit: 'user.mfa_enrollment_started',
  body: Closed({
    user_id: Type.Optional(Id('user')),
    current_password: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1024, description: 'For oneself, where the account has a password' }),
    ),
  }),
  response: Closed({
    provisioning_uri: Type.String({ description: 'otpauth:// URI for an authenticator app' }),
    secret: Type.String({ description: 'The seed in base32, shown once' }),
    expires_at: Time,
  }),
})

export const verifyTotp = endpoint({
  method: 'POST',
  path: '/v1/admin/users/totp/verify',
  summary:
    'Complete TOTP enrollment with a code, which does not count as a step-up; the recovery codes appear only here',
  access: { by: ['session', 'api_key'], permission: 'own', during: ['enroll_mfa'] },
  audit: 'user.mfa_enabled',
  setsCookie: true,
  body: Closed({ user_id: Type.Optional(Id('user')), code: OneTimeCode }),
  response: Closed({ mfa: Mfa, recovery_codes: Type.Array(Type.String()) }),
})

export const disableTotp = endpoint({
  method: 'POST',
  path: '/v1/admin/users/totp/disable',
  summary: 'Take the second factor from a user, or with password and code the own one; the sessions of the user end',
  access: { by: ['session', 'api_key'], permission: 'credentials:write' },
  audit: 'user.mfa_disabled',
  stepUp: {},
  body: Closed({
    user_id: Id('user'),
    reason: Type.Optional(Reason),
    current_password: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1024, description: 'For the own factor, with a code' }),
    ),
    code: Type.Optional(OneTimeCode),
    recovery_code: Type.Optional(Type.String({ maxLength: 64 })),
  }),
  response: Closed({ user: User, changed: Type.Boolean(), sessions_terminated: Type.Integer({ minimum: 0 }) }),
})

const changeGrant = {
  method: 'POST',
  access: { by: ['session', 'api_key'], permission: 'rbac:write' },
  body: Closed({ user_id: Id('user'), role: OneOf(roleNames), reason: Type.Optional(Reason) }),
  response: Closed({ user: User, changed: Type.Boolean() }),
} as const

export const grantRole = endpoint({
  ...changeGrant,
  path: '/v1/admin/rbac/grant',
  summary: 'Grant a role to a user',
  audit: 'role.granted',
  stepUp: {},
})

export const revokeRole = endpoint({
  ...changeGrant,
  path: '/v1/admin/rbac/revoke',
  summary: 'Revoke a role from a user',
  audit: 'role.revoked',
})

export const listRoles = endpoint({
  method: 'GET',
  path: '/v1/admin/rbac/roles',
  summary: 'Every role and what it may do',
  access: { by: ['session', 'api_key'], permission: 'rbac:read' },
  response: List(Closed({ role: OneOf(roleNames), permissions: Type.Array(OneOf(permissions)) })),
})

export const listGrants = endpoint({
  method: 'GET',
  path: '/v1/admin/rbac/grants',
  summary: 'Who holds which role',
  access: { by: ['session', 'api_key'], permission: 'rbac:read' },
  query: ListQuery({ user_id: Type.Optional(Id('user')), role: Type.Optional(OneOf(roleNames)) }, [
    'granted_at',
  ] as const),
  response: List(
    Closed({
      user_id: Id('user'),
      username: Name,
      role: OneOf(roleNames),
      granted_by: Nullable(Type.String()),
      granted_at: Time,
    }),
  ),
})

export const Group = Closed(
  {
    group_id: Id('group'),
    tenant_id: Id('tenant'),
    name: Name,
    description: Type.String(),
    source: OneOf(['local', 'directory']),
    member_count: Count,
    created_at: Time,
    updated_at: Time,
  },
  { title: 'Group' },
)

export const listGroups = endpoint({
  method: 'GET',
  path: '/v1/admin/groups',
  summary: 'List groups',
  access: { by: ['session', 'api_key'], permission: 'groups:read' },
  query: ListQuery({ q: Prefix }, ['name', 'created_at'] as const),
  response: List(Group),
})

export const getGroup = endpoint({
  method: 'GET',
  path: '/v1/admin/groups/{group_id}',
  summary: 'One group',
  access: { by: ['session', 'api_key'], permission: 'groups:read' },
  params: Closed({ group_id: Id('group') }),
  response: Group,
  etag: true,
})

export const changeGroup = endpoint({
  method: 'POST',
  path: '/v1/admin/groups/lifecycle',
  summary: 'Create, update or delete a group; members by whole list, or by what to add and remove',
  access: { by: ['session', 'api_key'], permission: 'by_operation' },
  operations: {
    create: { permission: 'groups:write', status: 201 },
    update: { permission: 'groups:write' },
    delete: { permission: 'groups:write' },
  },
  audit: 'group.changed',
  body: Closed({
    operation: OneOf(['create', 'update', 'delete']),
    group_id: Type.Optional(Id('group')),
    group: Type.Optional(
      Closed({
        name: Type.Optional(Name),
        description: Type.Optional(Text),
        members: Type.Optional(Ids('user', 10_000)),
        add_members: Type.Optional(Ids('user', 10_000)),
        remove_members: Type.Optional(Ids('user', 10_000)),
      }),
    ),
    reason: Type.Optional(Reason),
  }),
  response: Closed({ operation: Type.String(), changed: Type.Boolean(), group: Group }),
  ifMatch: true,
})
