import type { Database } from '../../../db/database.ts'
import type { Pager } from '../../../db/page.ts'
import type { Handlers } from '../../../http/handlers.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { idOf } from '../../../kernel/ids.ts'
import { versioned } from '../../../kernel/version.ts'
import type { BreakGlass } from './break-glass.ts'
import { decodeIds } from './references.ts'
import { userVersion } from './subject.ts'
import { createUserFacets, readUserFilter } from './user-facets.ts'
import { selectUsers, walkUsers } from './users.queries.ts'
import type { Users } from './users.ts'
import { denseUserFilters } from './users-filter.queries.ts'
import { viewUser } from './view.ts'

type Move = Parameters<Users['move']>[1]

const orders = {
  username: { column: 'username', kind: 'text' },
  created_at: { column: 'created_at', kind: 'time' },
  last_login_at: { column: 'last_login_key', kind: 'time' },
} as const

export function userHandlers(deps: {
  db: Database
  pager: Pager
  now: () => Date
  users: Users
  breakGlass: Pick<BreakGlass, 'set'>
}) {
  const { db, pager, now, users, breakGlass } = deps
  const counts = createUserFacets({ db, now })
  const view = (user: Parameters<typeof viewUser>[0]) => viewUser(user, now())

  /** Answer of `lifecycle`, and of the endpoints that are named after one of its operations. */
  const move = async (actor: Actor, operation: Move, id: string, how: Parameters<Users['move']>[3]) => {
    const { changed, user, terminated, warnings } = await users.move(actor, operation, id, how)
    const ends = operation === 'suspend' || operation === 'delete'
    return { operation, changed, user: view(user), ...(ends && { sessions_terminated: terminated }), warnings }
  }

  return {
    listUsers: async ({ actor, query }) => {
      const { limit: _, cursor: __, sort: ___, count, ...filterInput } = query
      const filter = readUserFilter(filterInput, now())
      const found = await db.inTenant(actor.tenantId, async (tx) => {
        const dense = await denseUserFilters(tx, actor.tenantId, filter)
        return pager.list(
          selectUsers(tx, actor.tenantId, filter, dense),
          {
            operation: 'listUsers',
            tenant: actor.tenantId,
            query,
            orders,
            tie: 'user_id',
          },
          walkUsers(tx, actor.tenantId, filter, dense),
        )
      })
      const total = count && (await counts.total(actor.tenantId, filterInput))
      return { items: found.items.map(view), next_cursor: found.next_cursor, ...(total && { total }) }
    },
    listUserFacets: ({ actor, query }) => counts.facets(actor.tenantId, query),

    getUser: async ({ actor, params }) => {
      const user = await users.find(actor.tenantId, idOf('user', params.user_id))
      return versioned(userVersion(user), view(user))
    },

    changeUser: async ({ actor, body, expected }) => {
      const { operation, reason } = body
      const { group_ids, kind, ...userFields } = body.user ?? {}
      const fields = { ...userFields, ...(group_ids && { groups: decodeIds('group', 'user.group_ids', group_ids) }) }
      if (operation === 'create') {
        if (body.user_id !== undefined) failField('user_id', 'is assigned by the server: leave it out to create a user')
        expected.require(undefined)
        const username = fields.username ?? failField('user.username', 'is required to create a user')
        const made = await users.create(actor, { ...fields, kind: kind ?? 'person', username }, reason)
        return { operation, changed: made.changed, user: view(made.user), warnings: made.warnings }
      }
      const id = idOf('user', body.user_id ?? failField('user_id', `is required to ${operation} a user`))
      if (kind !== undefined) failField('user.kind', 'is allowed only with create')
      if ((operation === 'update') === (body.user === undefined))
        failField('user', operation === 'update' ? 'is required to update a user' : `is not allowed with ${operation}`)
      if (operation !== 'update') return move(actor, operation, id, { reason, expected })
      const { changed, user, warnings } = await users.update(actor, id, fields, { reason, expected })
      return { operation, changed, user: view(user), warnings }
    },

    suspendUser: ({ actor, body: { user_id, reason }, expected }) =>
      move(actor, 'suspend', idOf('user', user_id), { reason, expected }),
    reactivateUser: ({ actor, body: { user_id, reason }, expected }) =>
      move(actor, 'reactivate', idOf('user', user_id), { reason, expected }),
    unlockUser: ({ actor, body: { user_id, reason }, expected }) =>
      move(actor, 'unlock', idOf('user', user_id), { reason, expected }),
    setBreakGlass: async ({ actor, body, expected }) => {
      const { user_id, break_glass: to, reason } = body
      const { user, changed } = await breakGlass.set(actor, { user: idOf('user', user_id), to, reason, expected })
      return { user: view(user), changed }
    },
  } satisfies Partial<Handlers>
}
