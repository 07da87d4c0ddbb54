import type { ScimSearch } from '@holdfast/contract/scim-shapes'
import type { Database } from '../../../db/database.ts'
import { Answer } from '../../../http/answer/answer.ts'
import type { Handlers } from '../../../http/handlers.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { idOf } from '../../../kernel/ids.ts'
import type { Representation } from '../../../kernel/results.ts'
import type { Owned } from '../../identity/index.ts'
import { groupKind, userKind } from './attributes.ts'
import type { ScimGroups } from './groups.ts'
import { createListing } from './listing.ts'
import { projectionOf } from './projection.ts'
import type { ScimProvisioning } from './provisioning.ts'
import type { PushDirectory } from './push.ts'
import type { ScimUsers } from './users.ts'
import { type Locate, parsedContent, viewScimGroup, viewScimUser } from './view.ts'

type HandlerDeps = {
  db: Database
  owned: Pick<Owned, 'entries'>
  provisioning: Pick<ScimProvisioning, 'read'>
  users: ScimUsers
  groups: ScimGroups
  locate: Locate
}

export function scimHandlers({ db, owned, provisioning, users, groups, locate }: HandlerDeps) {
  const listing = createListing({ owned, users, locate })
  const listed = <T>(actor: Actor, list: (place: PushDirectory) => Promise<T>): Promise<T> =>
    db.inTenant(actor.tenantId, async (tx) => list(await provisioning.read(tx, actor)))
  const user = (id: string) => idOf('user', id)
  const group = (id: string) => idOf('group', id)
  const whole = { users: projectionOf(userKind, {}), groups: projectionOf(groupKind, {}) }
  type Shown = Awaited<ReturnType<ScimUsers['get']>>
  const viewUser = (shown: Shown) => viewScimUser(shown, whole.users, locate)

  return {
    listScimUsers: ({ actor, query }) => listed(actor, (place) => listing.users(place, query)),
    listScimGroups: ({ actor, query }) => listed(actor, (place) => listing.groups(place, query)),
    searchScim: ({ actor, body }) => listed(actor, (place) => listing.all(place, queryOf(body))),
    searchScimUsers: ({ actor, body }) => listed(actor, (place) => listing.users(place, queryOf(body))),
    searchScimGroups: ({ actor, body }) => listed(actor, (place) => listing.groups(place, queryOf(body))),

    getScimUser: async ({ actor, params, query }) =>
      viewScimUser(await users.get(actor, user(params.scim_user_id)), projectionOf(userKind, query), locate),
    createScimUser: async ({ actor, body }) => changed(viewUser(await users.create(actor, body)), 201),
    replaceScimUser: async ({ actor, params, body, expected }) =>
      changed(viewUser(await users.replace(actor, user(params.scim_user_id), body, expected)), 200),
    patchScimUser: async ({ actor, params, body, expected }) =>
      changed(viewUser(await users.patch(actor, user(params.scim_user_id), body, expected)), 200),
    deleteScimUser: ({ actor, params, expected }) => users.remove(actor, user(params.scim_user_id), expected),

    getScimGroup: async ({ actor, params, query }) => {
      const project = projectionOf(groupKind, query)
      const shown = await groups.get(actor, group(params.scim_group_id), project.shows('members'))
      return viewScimGroup(shown, project, locate)
    },
    createScimGroup: async ({ actor, body }) =>
      changed(viewScimGroup(await groups.create(actor, body), whole.groups, locate), 201),
    replaceScimGroup: async ({ actor, params, body, expected }) => {
      const shown = await groups.replace(actor, group(params.scim_group_id), body, expected)
      return changed(viewScimGroup(shown, whole.groups, locate), 200)
    },
    patchScimGroup: ({ actor, params, body, expected }) =>
      groups.patch(actor, group(params.scim_group_id), body, expected),
    deleteScimGroup: ({ actor, params, expected }) => groups.remove(actor, group(params.scim_group_id), expected),
  } satisfies Partial<Handlers>
}

/** Answer to a write: the resource with its ETag and location. */
function changed<E extends { meta?: { location?: string } }>(made: Representation<E>, status: 200 | 201): Answer<E> {
  const entry = parsedContent(made)
  const location = entry.meta?.location
  return new Answer(entry, {
    status,
    headers: { ...(made.etag !== undefined && { etag: made.etag }), ...(location !== undefined && { location }) },
  })
}

/** The body of a search has the same parameters as the URL of a list. */
const queryOf = ({ schemas: _, attributes, excludedAttributes, ...page }: ScimSearch) => ({
  ...page,
  ...(attributes && { attributes: attributes.join() }),
  ...(excludedAttributes && { excludedAttributes: excludedAttributes.join() }),
})
