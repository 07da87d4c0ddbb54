import { mostMembers, mostOfPage, scimUrns } from '@holdfast/contract/scim-shapes'
import { type SqlBool, sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import { Answer } from '../../../http/answer.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { idOf } from '../../../kernel/ids.ts'
import type { Representation } from '../../../kernel/representation.ts'
import { type Owned, type SearchedEntry, searchedGroups, searchedUsers } from '../../identity/index.ts'
import { groupKind, type Kind, userKind } from './attributes.ts'
import { failScim } from './errors.ts'
import { parseFilter } from './filter.ts'
import { requireListable, type ScimGroups } from './groups.ts'
import { projectionOf } from './projection.ts'
import type { Provisioning } from './provisioning.ts'
import type { ScimUsers } from './users.ts'
import { contentOf, type Locate, viewGroup, viewUser } from './view.ts'
import { conditionOf } from './where.ts'

type HandlerDeps = {
  db: Database
  owned: Pick<Owned, 'entries'>
  provisioning: Pick<Provisioning, 'read'>
  users: ScimUsers
  groups: ScimGroups
  locate: Locate
}

export function scimHandlers({ db, owned: { entries }, provisioning, users, groups, locate }: HandlerDeps) {
  const user = (id: string) => idOf('user', id)
  const group = (id: string) => idOf('group', id)
  const whole = { users: projectionOf(userKind, {}), groups: projectionOf(groupKind, {}) }
  type Shown = Awaited<ReturnType<ScimUsers['get']>>
  const told = (shown: Shown) => viewUser(shown, whole.users, locate)

  return {
    listScimUsers: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const project = projectionOf(userKind, query)
        const place = await provisioning.read(tx, actor)
        const { tenant, directory } = place
        const { where, startIndex, count } = pageOf(query, userKind, searchedUsers)
        const totalResults = await entries.countUsers(tx, tenant, directory, where)
        const page = { where, limit: count, offset: startIndex - 1 }
        const found = count === 0 ? [] : await entries.pageOfUsers(tx, tenant, directory, page)
        const shown = await users.show(place, found, project.shows('groups'))
        if (shown.reduce((n, { groups: its }) => n + its.length, 0) > mostMembers.shown)
          failScim('tooMany', `they are in more than ${mostMembers.shown} groups: ask with excludedAttributes=groups`)
        return listOf(
          totalResults,
          startIndex,
          shown.map((s) => contentOf(viewUser(s, project, locate))),
        )
      }),
    getScimUser: async ({ actor, params, query }) =>
      viewUser(await users.get(actor, user(params.scim_user_id)), projectionOf(userKind, query), locate),
    createScimUser: async ({ actor, body }) => changed(told(await users.create(actor, body)), 201),
    replaceScimUser: async ({ actor, params, body, expected }) =>
      changed(told(await users.replace(actor, user(params.scim_user_id), body, expected)), 200),
    patchScimUser: async ({ actor, params, body, expected }) =>
      changed(told(await users.patch(actor, user(params.scim_user_id), body, expected)), 200),
    deleteScimUser: ({ actor, params, expected }) => users.remove(actor, user(params.scim_user_id), expected),

    listScimGroups: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const project = projectionOf(groupKind, query)
        const { tenant, directory } = await provisioning.read(tx, actor)
        const { where, startIndex, count } = pageOf(query, groupKind, searchedGroups(tenant))
        const totalResults = await entries.countGroups(tx, tenant, directory, where)
        const page = { where, limit: count, offset: startIndex - 1 }
        const found = count === 0 ? [] : await entries.pageOfGroups(tx, tenant, directory, page)
        const withMembers = project.shows('members')
        if (withMembers) requireListable(found)
        const ids = found.map((g) => g.group_id)
        const rows = withMembers ? await entries.membersOfGroups(tx, tenant, directory, ids) : []
        const members = Map.groupBy(rows, (row) => row.group_id)
        const shown = found.map((entry) => {
          const its = members.get(entry.group_id) ?? []
          const view = { entry, members: withMembers ? its.map((row) => row.user_id) : undefined }
          return contentOf(viewGroup(view, project, locate))
        })
        return listOf(totalResults, startIndex, shown)
      }),
    getScimGroup: async ({ actor, params, query }) => {
      const project = projectionOf(groupKind, query)
      const shown = await groups.get(actor, group(params.scim_group_id), project.shows('members'))
      return viewGroup(shown, project, locate)
    },
    createScimGroup: async ({ actor, body }) =>
      changed(viewGroup(await groups.create(actor, body), whole.groups, locate), 201),
    replaceScimGroup: async ({ actor, params, body, expected }) => {
      const shown = await groups.replace(actor, group(params.scim_group_id), body, expected)
      return changed(viewGroup(shown, whole.groups, locate), 200)
    },
    patchScimGroup: ({ actor, params, body, expected }) =>
      groups.patch(actor, group(params.scim_group_id), body, expected),
    deleteScimGroup: ({ actor, params, expected }) => groups.remove(actor, group(params.scim_group_id), expected),
  } satisfies Partial<Handlers>
}

/** What a write made, under its tag, and where it is. */
function changed<E extends { meta?: { location: string } }>(made: Representation<E>, status: 200 | 201): Answer<E> {
  const entry = contentOf(made)
  const location = entry.meta?.location
  return new Answer(entry, {
    status,
    headers: { ...(made.etag !== undefined && { etag: made.etag }), ...(location !== undefined && { location }) },
  })
}

type Query = { filter?: string; startIndex?: number; count?: number }
const usualPage = 100
/** Less than the first is the first, and less than nothing nothing (RFC 7644 §3.4.2.4). */
function pageOf({ filter, startIndex = 1, count = usualPage }: Query, kind: Kind, searched: SearchedEntry) {
  return {
    where: filter === undefined ? sql<SqlBool>`true` : conditionOf(parseFilter(filter), kind, searched),
    startIndex: Math.min(Math.max(startIndex, 1), 1_000_000_000),
    count: Math.min(Math.max(count, 0), mostOfPage),
  }
}
const listOf = <T>(totalResults: number, startIndex: number, Resources: T[]) => ({
  schemas: [scimUrns.list],
  totalResults,
  startIndex,
  itemsPerPage: Resources.length,
  Resources,
})
