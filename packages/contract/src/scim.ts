import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { absentUserDays } from './limits.ts'
import { Closed, Id, Nothing } from './schema.ts'
import {
  Listed,
  page,
  ScimEntry,
  ScimGroup,
  ScimGroupInput,
  ScimPatch,
  ScimSearch,
  ScimUser,
  ScimUserInput,
  speaksScim,
} from './scim-shapes.ts'

export * from './scim-discovery.ts'

const names = (description: string) => Type.Optional(Type.String({ maxLength: 2048, description }))
const Projection = {
  attributes: names('Names of the attributes that the answer has, separated by commas'),
  excludedAttributes: names('Names of the attributes that the answer lacks, separated by commas'),
}
const OneQuery = Closed(Projection)
const ManyQuery = Closed({ ...page, ...Projection })

const writesUsers = { ...speaksScim, audit: 'user.changed', patience: 60 } as const
/** A group may have as many members as one request can contain. */
const large = { bodyLimit: 4 * 1024 * 1024, bodyNames: 100_000, patience: 60 } as const
const writesGroups = { ...speaksScim, ...large, audit: 'group.changed' } as const
const userPath = Closed({ scim_user_id: Id('user') })
const groupPath = Closed({ scim_group_id: Id('group') })

/**
 * The same as the list, with the query in the body. A filter may be too long for a URL, or must not appear in a log.
 */
const searches = {
  ...speaksScim,
  method: 'POST',
  costly: true,
  audit: 'directory.searched',
  records: 'refusals',
  body: ScimSearch,
} as const
const Users = Listed(ScimUser, 'ScimUserList')
const Groups = Listed(ScimGroup, 'ScimGroupList')

export const searchScim = endpoint({
  ...searches,
  path: '/v1/scim/v2/.search',
  summary: "Search the API key's directory",
  description: 'Users precede groups.',
  response: Listed(ScimEntry, 'ScimEntryList'),
})
export const searchScimUsers = endpoint({
  ...searches,
  path: '/v1/scim/v2/Users/.search',
  summary: "Search users of the API key's directory",
  response: Users,
})
export const searchScimGroups = endpoint({
  ...searches,
  path: '/v1/scim/v2/Groups/.search',
  summary: "Search groups of the API key's directory",
  response: Groups,
})

export const listScimUsers = endpoint({
  ...speaksScim,
  method: 'GET',
  path: '/v1/scim/v2/Users',
  summary: "List the users of the API key's directory",
  costly: true,
  query: ManyQuery,
  response: Users,
})
export const createScimUser = endpoint({
  ...writesUsers,
  method: 'POST',
  path: '/v1/scim/v2/Users',
  summary: 'Create a SCIM user',
  description: 'A user who was deleted under the same `externalId` is restored.',
  status: 201,
  errors: ['entitlement_exceeded'],
  body: ScimUserInput,
  response: ScimUser,
})
export const getScimUser = endpoint({
  ...speaksScim,
  method: 'GET',
  path: '/v1/scim/v2/Users/{scim_user_id}',
  summary: 'Get a SCIM user',
  etag: true,
  params: userPath,
  query: OneQuery,
  response: ScimUser,
})
export const replaceScimUser = endpoint({
  ...writesUsers,
  method: 'PUT',
  path: '/v1/scim/v2/Users/{scim_user_id}',
  summary: 'Replace a SCIM user',
  description: 'Without `externalId` or `active` these keep their values.',
  ifMatch: true,
  errors: ['entitlement_exceeded'],
  params: userPath,
  body: ScimUserInput,
  response: ScimUser,
})
export const patchScimUser = endpoint({
  ...writesUsers,
  method: 'PATCH',
  path: '/v1/scim/v2/Users/{scim_user_id}',
  summary: 'Change attributes of a SCIM user',
  description: '`active: false` suspends the user. Sessions, devices and VPN sessions end within a second.',
  ifMatch: true,
  errors: ['entitlement_exceeded'],
  params: userPath,
  body: ScimPatch,
  response: ScimUser,
})
export const deleteScimUser = endpoint({
  ...writesUsers,
  method: 'DELETE',
  path: '/v1/scim/v2/Users/{scim_user_id}',
  summary: 'Delete a SCIM user',
  description: `The user is suspended and leaves the groups. The server deletes the user after ${absentUserDays} days.`,
  status: 204,
  ifMatch: true,
  params: userPath,
  response: Nothing,
})

export const listScimGroups = endpoint({
  ...speaksScim,
  method: 'GET',
  path: '/v1/scim/v2/Groups',
  summary: "List the groups of the API key's directory",
  costly: true,
  query: ManyQuery,
  response: Groups,
})
export const createScimGroup = endpoint({
  ...writesGroups,
  method: 'POST',
  path: '/v1/scim/v2/Groups',
  summary: 'Create a SCIM group',
  description: 'A group that was deleted under the same `externalId` is restored.',
  status: 201,
  errors: ['entitlement_exceeded'],
  body: ScimGroupInput,
  response: ScimGroup,
})
export const getScimGroup = endpoint({
  ...speaksScim,
  method: 'GET',
  path: '/v1/scim/v2/Groups/{scim_group_id}',
  summary: 'Get a SCIM group',
  description: 'The answer has all members, unless `excludedAttributes` excludes them.',
  costly: true,
  etag: true,
  params: groupPath,
  query: OneQuery,
  response: ScimGroup,
})
export const replaceScimGroup = endpoint({
  ...writesGroups,
  method: 'PUT',
  path: '/v1/scim/v2/Groups/{scim_group_id}',
  summary: 'Replace a SCIM group',
  description: 'The body replaces the name and the members. Without `externalId` it keeps its value.',
  ifMatch: true,
  errors: ['entitlement_exceeded'],
  params: groupPath,
  body: ScimGroupInput,
  response: ScimGroup,
})
export const patchScimGroup = endpoint({
  ...writesGroups,
  method: 'PATCH',
  path: '/v1/scim/v2/Groups/{scim_group_id}',
  summary: 'Change attributes or members of a SCIM group',
  description: 'The cost depends on the change, not on the size of the group.',
  status: 204,
  ifMatch: true,
  errors: ['entitlement_exceeded'],
  params: groupPath,
  body: ScimPatch,
  response: Nothing,
})
export const deleteScimGroup = endpoint({
  ...speaksScim,
  method: 'DELETE',
  path: '/v1/scim/v2/Groups/{scim_group_id}',
  summary: 'Delete a SCIM group',
  description: 'The group loses its members. It stays for the policies that name it.',
  audit: 'group.changed',
  status: 204,
  ifMatch: true,
  params: groupPath,
  response: Nothing,
})
