import { type ScimGroup, type ScimUser, scimBase, scimUrns } from '@holdfast/contract/scim-shapes'
import { encodeId } from '../../../kernel/ids.ts'
import { Representation } from '../../../kernel/results.ts'
import { versioned } from '../../../kernel/version.ts'
import { externalIdOf, type ShownGroup, versionOfGroup } from './groups.ts'
import type { Projection } from './projection.ts'
import { attributesOf, versionOfUser } from './user-states.ts'
import type { ShownUser } from './users.ts'

export type Locate = (path: string) => string
export const createLocate =
  (publicUrl: string): Locate =>
  (path) =>
    `${publicUrl}${scimBase}/${path}`

type Entry = ScimUser | ScimGroup
/** Adds the ETag, which also appears in `meta.version` if that is shown. */
function tagged<E extends Entry>(version: unknown, entry: E, project: Projection): Representation<E> {
  const { etag = '' } = versioned(version, entry)
  const showsVersion = project.shows('meta') && project.showsPart('meta', 'version')
  const content = showsVersion ? { ...entry, meta: { ...entry.meta, version: etag } } : entry
  return new Representation(etag.slice(1, -1), content)
}
export const parsedContent = <E>(r: Representation<E>): E => r.content as E

export function viewScimUser(
  { entry, groups }: ShownUser,
  project: Projection,
  locate: Locate,
): Representation<ScimUser> {
  const id = encodeId('user', entry.user_id)
  const { externalId, userName, name, displayName, emails, active } = attributesOf(entry)
  const all: ScimUser = {
    schemas: [scimUrns.user],
    id,
    ...(externalId !== undefined && { externalId }),
    userName,
    ...(name && { name }),
    ...(displayName !== undefined && { displayName }),
    ...(emails && { emails }),
    active,
    groups: groups.map(({ group_id, name: display }) => {
      const value = encodeId('group', group_id)
      return { value, $ref: locate(`Groups/${value}`), display, type: 'direct' }
    }),
    meta: {
      resourceType: 'User',
      created: entry.created_at.toISOString(),
      lastModified: entry.updated_at.toISOString(),
      location: locate(`Users/${id}`),
    },
  }
  return tagged(versionOfUser(entry), project.of(all), project)
}

const memberOf = (value: string, locate: Locate) => ({ value, $ref: locate(`Users/${value}`), type: 'User' })

export function viewScimGroup(
  { entry, members }: ShownGroup,
  project: Projection,
  locate: Locate,
): Representation<ScimGroup> {
  const id = encodeId('group', entry.group_id)
  const all: ScimGroup = {
    schemas: [scimUrns.group],
    id,
    ...externalIdOf(entry.external_id),
    displayName: entry.name,
    ...(members && { members: members.map((user) => memberOf(encodeId('user', user), locate)) }),
    meta: {
      resourceType: 'Group',
      created: entry.created_at.toISOString(),
      lastModified: entry.updated_at.toISOString(),
      location: locate(`Groups/${id}`),
    },
  }
  return tagged(versionOfGroup(entry), project.of(all), project)
}
