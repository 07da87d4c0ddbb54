import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import {
  Closed,
  Count,
  EntryName,
  Id,
  Ids,
  List,
  ListQuery,
  Nullable,
  OneOf,
  Prefix,
  Reason,
  Text,
  Time,
  WasChanged,
} from './schema.ts'

export const Group = Closed(
  {
    group_id: Id('group'),
    tenant_id: Id('tenant'),
    name: EntryName,
    description: Type.String(),
    source: OneOf(['local', 'directory']),
    external_id: Nullable(Type.String({ description: 'Permanent id in its directory' })),
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
  query: ListQuery({ q: Prefix }, ['name', 'created_at'] as const, 'name'),
  response: List(Group),
})

export const getGroup = endpoint({
  method: 'GET',
  path: '/v1/admin/groups/{group_id}',
  summary: 'Get a group',
  access: { by: ['session', 'api_key'], permission: 'groups:read' },
  params: Closed({ group_id: Id('group') }),
  response: Group,
  etag: true,
})

export const changeGroup = endpoint({
  method: 'POST',
  path: '/v1/admin/groups/lifecycle',
  summary: 'Create, update or delete a group',
  description: 'An update gives the whole list of members, or the members to add and to remove.',
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
        name: Type.Optional(EntryName),
        description: Type.Optional(Text),
        members: Type.Optional(Ids('user', 10_000)),
        add_members: Type.Optional(Ids('user', 10_000)),
        remove_members: Type.Optional(Ids('user', 10_000)),
      }),
    ),
    reason: Type.Optional(Reason),
  }),
  response: Closed({ operation: Type.String(), changed: WasChanged, group: Group }),
  ifMatch: true,
})
