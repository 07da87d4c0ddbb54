import { mostMembers, mostOfPage, scimUrns } from '@holdfast/contract/scim-shapes'
import { type SqlBool, sql } from 'kysely'
import type { TenantId } from '../../../kernel/actor.ts'
import { type Owned, searchedGroups, searchedUsers } from '../../identity/index.ts'
import { groupKind, userKind } from './attributes.ts'
import { failScim } from './errors.ts'
import { parseFilter } from './filter.ts'
import { requireListable } from './groups.ts'
import { projectionOf } from './projection.ts'
import type { PushDirectory } from './push.ts'
import type { ScimUsers } from './users.ts'
import { type Locate, parsedContent, viewScimGroup, viewScimUser } from './view.ts'
import { conditionOf, type Field } from './where.ts'

type Query = {
  filter?: string
  startIndex?: number
  count?: number
  attributes?: string
  excludedAttributes?: string
}
type Page = { offset: number; limit: number }
type ListingDeps = { owned: Pick<Owned, 'entries'>; users: Pick<ScimUsers, 'show'>; locate: Locate }
const usualPage = 100

const userField: Field = { kind: userKind, entry: searchedUsers }
const groupField = (tenant: TenantId): Field => ({ kind: groupKind, entry: searchedGroups(tenant) })
const whereOf = ({ filter }: Query, field: Field, other?: Field) =>
  filter === undefined ? sql<SqlBool>`true` : conditionOf(parseFilter(filter), field, other)

/** Results of a filter, in pages: users, groups, or both. */
export function createListing({ owned: { entries }, users: people, locate }: ListingDeps) {
  /** Users of the directory that match a filter, which may also search groups. */
  function findUsers(place: PushDirectory, query: Query, other?: Field) {
    const { tx, tenant, directory } = place
    const project = projectionOf(userKind, query)
    const where = whereOf(query, userField, other)
    return {
      count: () => entries.countUsers(tx, tenant, directory, where),
      page: async (page: Page) => {
        const found = page.limit === 0 ? [] : await entries.pageOfUsers(tx, tenant, directory, { where, ...page })
        const shown = await people.show(place, found, project.shows('groups'))
        if (shown.reduce((n, { groups }) => n + groups.length, 0) > mostMembers.shown)
          failScim(
            'tooMany',
            `the user is in more than ${mostMembers.shown} groups: repeat the request with excludedAttributes=groups`,
          )
        return shown.map((s) => parsedContent(viewScimUser(s, project, locate)))
      },
    }
  }
  function findGroups({ tx, tenant, directory }: PushDirectory, query: Query, other?: Field) {
    const project = projectionOf(groupKind, query)
    const withMembers = project.shows('members')
    const where = whereOf(query, groupField(tenant), other)
    return {
      count: () => entries.countGroups(tx, tenant, directory, where),
      page: async (page: Page) => {
        const found = page.limit === 0 ? [] : await entries.pageOfGroups(tx, tenant, directory, { where, ...page })
        if (withMembers) requireListable(found)
        const ids = found.map((g) => g.group_id)
        const rows = withMembers ? await entries.membersOfGroups(tx, tenant, directory, ids) : []
        const members = Map.groupBy(rows, (row) => row.group_id)
        return found.map((entry) => {
          const its = members.get(entry.group_id) ?? []
          const view = { entry, members: withMembers ? its.map((row) => row.user_id) : undefined }
          return parsedContent(viewScimGroup(view, project, locate))
        })
      },
    }
  }

  return {
    users: (place: PushDirectory, query: Query) => listOf(query, findUsers(place, query)),
    groups: (place: PushDirectory, query: Query) => listOf(query, findGroups(place, query)),
    /** Groups follow after the last user. */
    all: async (place: PushDirectory, query: Query) => {
      const ofUsers = findUsers(place, query, groupField(place.tenant))
      const ofGroups = findGroups(place, query, userField)
      const users = await ofUsers.count()
      return listOf(query, {
        count: async () => users + (await ofGroups.count()),
        page: async ({ offset, limit }) => {
          const first = await ofUsers.page({ offset, limit })
          const rest = { offset: Math.max(0, offset - users), limit: limit - first.length }
          return [...first, ...(await ofGroups.page(rest))]
        },
      })
    },
  }
}

/** Values below the minimum count as the minimum (RFC 7644 §3.4.2.4). */
async function listOf<T>(
  { startIndex: from = 1, count = usualPage }: Query,
  found: { count: () => Promise<number>; page: (page: Page) => Promise<T[]> },
) {
  const startIndex = Math.min(Math.max(from, 1), 1_000_000_000)
  const totalResults = await found.count()
  const Resources = await found.page({ offset: startIndex - 1, limit: Math.min(Math.max(count, 0), mostOfPage) })
  return { schemas: [scimUrns.list], totalResults, startIndex, itemsPerPage: Resources.length, Resources }
}
