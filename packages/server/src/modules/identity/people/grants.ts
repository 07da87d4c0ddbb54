import type { Role } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { decodeId, encodeId } from '../../../kernel/ids.ts'
import type { Changes } from '../../../memory/changes.ts'
import { mayHandle } from '../../access/index.ts'
import type { Audit } from '../../audit/index.ts'
import { deleteGrant, insertGrant } from './grants.queries.ts'
import { missingUser, refuseStronger } from './subject.ts'
import { findUser, lockUser, type UserRow } from './users.queries.ts'
import type { Users } from './users.ts'

export type GrantRequest = { user_id: string; role: Role; reason?: string }
type Outcome = { user: UserRow; changed: boolean }

/** Who holds which role. Nobody gives or takes a role that allows more than they may do themselves. */
export function createGrants({
  db,
  audit,
  changes,
  now,
  users,
}: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  users: Pick<Users, 'refuseLast'>
}) {
  async function change(
    kind: 'role.granted' | 'role.revoked',
    actor: Actor,
    { user_id: wireId, role, reason }: GrantRequest,
    move: (tx: Tx, user: UserRow) => Promise<boolean>,
  ): Promise<Outcome> {
    if (!mayHandle(actor, role)) fail('forbidden', `the role ${role} allows more than you may do yourself`)
    const id = decodeId('user', wireId) ?? missingUser()
    const { tenantId } = actor
    return db.inTenant(tenantId, async (tx) => {
      const before = await findUser(tx, tenantId, id)
      if (!before || before.deleted_at) missingUser()
      refuseStronger(actor, before)
      if (!(await move(tx, before)))
        return { user: (await findUser(tx, tenantId, id)) ?? missingUser(), changed: false }
      const after = (await findUser(tx, tenantId, id)) ?? missingUser()
      const user_id = encodeId('user', id)
      const more = {
        target: { type: 'user', id: user_id, name: after.username },
        ...(reason !== undefined && { details: { reason } }),
      }
      await audit.record(tx, actor, kind, { user_id, role }, more)
      await changes.record(tx, tenantId, [{ kind: 'user', subject: id }])
      return { user: after, changed: true }
    })
  }

  return {
    grant: (actor: Actor, request: GrantRequest): Promise<Outcome> =>
      change('role.granted', actor, request, async (tx, { user_id }) => {
        // Held, so that a role is never given to a user who is being deleted or, meanwhile, given a stronger one.
        const user = await lockUser(tx, actor.tenantId, user_id)
        if (!user || user.deleted_at) missingUser()
        refuseStronger(actor, user)
        return insertGrant(tx, {
          tenant_id: actor.tenantId,
          user_id,
          role: request.role,
          granted_by: actor.id,
          granted_at: now(),
        })
      }),

    revoke: (actor: Actor, request: GrantRequest): Promise<Outcome> =>
      change('role.revoked', actor, request, async (tx, user) => {
        await users.refuseLast(tx, actor.tenantId, user, [request.role])
        return deleteGrant(tx, actor.tenantId, user.user_id, request.role)
      }),
  }
}
export type Grants = ReturnType<typeof createGrants>
