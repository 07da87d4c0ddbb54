import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Id, Ids, List, ListQuery, Name, Nullable, OneOf, Prefix, Reason, Text, Time } from './schema.ts'
import { roleNames } from './vocabulary.ts'

const Username = Type.String({ minLength: 1, maxLength: 128, pattern: '^[^\\s/\\u0000-\\u001f]+$' })
const Email = Type.String({ minLength: 3, maxLength: 254, pattern: '^[^@\\s]+@[^@\\s]+$' })

export const User = Closed({
  user_id: Id('user'),
  tenant_id: Id('tenant'),
  username: Name,
  email: Nullable(Type.String()),
  display_name: Type.String(),
  status: OneOf(['active', 'suspended']),
  locked_until: Nullable(Time),
  source: OneOf(['local', 'directory', 'sso']),
  roles: Type.Array(OneOf(roleNames)),
  group_ids: Type.Array(Id('group')),
  password_set: Type.Boolean(),
  created_at: Time,
  updated_at: Time,
  last_login_at: Nullable(Time),
})

export const listUsers = endpoint({
  method: 'GET',
  path: '/v1/admin/users',
  summary: 'List users',
  access: { by: ['session', 'api_key'], permission: 'users:read' },
  query: ListQuery(
    {
      q: Prefix,
      status: Type.Optional(OneOf(['active', 'suspended'])),
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
})

export const changeUser = endpoint({
  method: 'POST',
  path: '/v1/admin/users/lifecycle',
  summary: 'Create, update, suspend, reactivate or delete a user',
  access: { by: ['session', 'api_key'], permission: 'users:write' },
  audit: 'user.changed',
  body: Closed({
    operation: OneOf(['create', 'update', 'suspend', 'reactivate', 'delete']),
    user_id: Type.Optional(Id('user')),
    user: Type.Optional(
      Closed({
        username: Type.Optional(Username),
        email: Type.Optional(Nullable(Email)),
        display_name: Type.Optional(Type.String({ maxLength: 256 })),
        group_ids: Type.Optional(Ids('group')),
      }),
    ),
    reason: Type.Optional(Reason),
  }),
  response: Closed({ operation: Type.String(), changed: Type.Boolean(), user: User }),
})

export const Group = Closed({
  group_id: Id('group'),
  tenant_id: Id('tenant'),
  name: Name,
  description: Type.String(),
  source: OneOf(['local', 'directory']),
  member_count: Count,
  created_at: Time,
  updated_at: Time,
})

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
})

export const changeGroup = endpoint({
  method: 'POST',
  path: '/v1/admin/groups/lifecycle',
  summary: 'Create, update or delete a group; members by whole list, or by what to add and remove',
  access: { by: ['session', 'api_key'], permission: 'groups:write' },
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
})
