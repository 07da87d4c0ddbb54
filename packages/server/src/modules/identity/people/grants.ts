import type { Role } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { requirePresence } from '../../../kernel/own-limit.ts'
import type { Changes } from '../../../memory/changes.ts'
import { mayHandle } from '../../access/index.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { holdAdministrators, mayBeLast, refuseLast } from './administrators.ts'
import type { BreakGlass } from './break-glass.ts'
import { deleteGrant, insertGrant } from './grants.queries.ts'
import { isOneself, present, refuseStronger } from './subject.ts'
import { findUser, lockUser, type UserRow } from './users.queries.ts'

type Outcome = { user: UserRow; changed: boolean }

/** Who holds which role. Nobody gives or takes a role that allows more than they may do themselves. */
export function createGrants(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  tenancy: Pick<IdentityDeps['tenancy'], 'settings'>
  breakGlass: Pick<BreakGlass, 'refuseLast'>
}) {
  const { db, audit, changes, now, tenancy, breakGlass } = deps

  /** `move` changes the user's roles while the user's row is held; true when it did. */
  function change(
    kind: 'role.granted' | 'role.revoked',
    actor: Actor,
    id: string,
    role: Role,
    reason: string | undefined,
    move: (tx: Tx, user: UserRow) => Promise<boolean>,
  ): Promise<Outcome> {
    if (!mayHandle(actor, role)) fail('forbidden', `the role ${role} allows more than you may do yourself`)
    const { tenantId } = actor
    return db.inTenant(tenantId, async (tx) => {
      if (kind === 'role.revoked' && mayBeLast([role])) await holdAdministrators(tx, tenantId)
      const before = present(await lockUser(tx, tenantId, id))
      refuseStronger(actor, before)
      if (!(await move(tx, before))) return { user: before, changed: false }
      const after = present(await findUser(tx, tenantId, id))
      const user_id = encodeId('user', id)
      const target = { type: 'user', id: user_id, name: after.username }
      const more = { target, ...(reason !== undefined && { details: { reason } }) }
      await audit.record(tx, actor, kind, { user_id, role }, more)
      await changes.record(tx, tenantId, [{ kind: 'user', subject: id }])
      return { user: after, changed: true }
    })
  }

  return {
    grant: (actor: Actor, id: string, role: Role, reason: string | undefined): Promise<Outcome> =>
      change('role.granted', actor, id, role, reason, (tx) =>
        insertGrant(tx, {
          tenant_id: actor.tenantId,
          user_id: id,
          role,
          granted_by: actor.id,
          granted_at: now(),
        }),
      ),

    revoke: async (actor: Actor, id: string, role: Role, reason: string | undefined): Promise<Outcome> => {
      // Without the role a person with others may be free of the second factor that it asks for.
      if (isOneself(actor, id) && (await tenancy.settings(actor.tenantId)).mfa.required_roles.includes(role))
        requirePresence(actor, `this lifts mfa.required_roles (${role}) for your own account`, now())
      return change('role.revoked', actor, id, role, reason, async (tx, user) => {
        await refuseLast(tx, actor.tenantId, user, user.roles.includes(role) ? [role] : [])
        if (mayBeLast([role]) && !mayBeLast(user.roles.filter((r) => r !== role)))
          await breakGlass.refuseLast(tx, actor.tenantId, user)
        return deleteGrant(tx, actor.tenantId, id, role)
      })
    },
  }
}
export type Grants = ReturnType<typeof createGrants>
