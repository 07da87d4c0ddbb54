import { type Role, roleNames, roles } from '@holdfast/contract/vocabulary'
import type { Database } from '../../../db/database.ts'
import { findNames, type Names } from '../../../db/names.ts'
import type { Pager } from '../../../db/page.ts'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { selectGrants } from './grants.queries.ts'
import type { Grants } from './grants.ts'
import { viewUser } from './view.ts'

export function grantHandlers(deps: { db: Database; pager: Pager; now: () => Date; grants: Grants }) {
  const { db, pager, now, grants } = deps

  return {
    grantRole: async ({ actor, body }) => {
      const { grant, user, ...said } = await grants.grant(actor, idOf('user', body.user_id), body.role, body.reason)
      const names = await db.inTenant(actor.tenantId, (tx) => findNames(tx, actor.tenantId, makersOf([grant])))
      return { ...said, grant: viewGrant(grant, names), user: viewUser(user, now()) }
    },
    revokeRole: async ({ actor, body }) => {
      const { user, ...said } = await grants.revoke(actor, idOf('user', body.user_id), body.role, body.reason)
      return { ...said, user: viewUser(user, now()) }
    },
    listRoles: async () => ({
      items: roleNames.map((role) => ({ role, permissions: [...roles[role]].sort() })),
    }),
    listGrants: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const { user_id, role } = query
        const filter = { user: user_id === undefined ? undefined : idOf('user', user_id), role }
        const found = await pager.list(selectGrants(tx, actor.tenantId, filter), {
          operation: 'listGrants',
          tenant: actor.tenantId,
          query,
          orders: { granted_at: { column: 'granted_at', kind: 'time' } },
          tie: 'grant_id',
        })
        const names = await findNames(tx, actor.tenantId, makersOf(found.items))
        return { items: found.items.map((grant) => viewGrant(grant, names)), next_cursor: found.next_cursor }
      }),
  } satisfies Partial<Handlers>
}

type GrantRow = Awaited<ReturnType<Grants['grant']>>['grant']
const makersOf = (grants: readonly GrantRow[]) => ({ makers: grants.map((g) => g.granted_by) })
const viewGrant = (grant: GrantRow, names: Names) => ({
  user_id: encodeId('user', grant.user_id),
  username: grant.username,
  role: grant.role as Role,
  granted_by: grant.granted_by,
  granted_by_name: names.ofMaker(grant.granted_by),
  granted_at: grant.granted_at.toISOString(),
})
