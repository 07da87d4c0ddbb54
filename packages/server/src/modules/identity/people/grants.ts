import type { Role } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { requirePresence } from '../../../kernel/presence.ts'
import type { Changes } from '../../../replication/changes.ts'
import { mayHandle } from '../../access/index.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { holdAdministrators, mayBeLast, requireAnother, type Warning, warned } from './administrators.ts'
import type { BreakGlass } from './break-glass.ts'
import { warnOfSetters } from './credential-setters.ts'
import { deleteGrant, findRoleGrant, insertRoleGrant } from './grants.queries.ts'
import { isOneself, present, refuseStronger } from './subject.ts'
import { findUser, lockUser, type UserRow } from './users.queries.ts'

type Outcome = { user: UserRow; changed: boolean; warnings: Warning[] }
type GrantRow = Awaited<ReturnType<typeof findRoleGrant>>

/** Grants of roles. Nobody grants or revokes a role that allows more than they may do themselves. */
export function createGrants(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  tenancy: Pick<IdentityDeps['tenancy'], 'settings'>
  breakGlass: Pick<BreakGlass, 'requireAnother'>
}) {
  const { db, audit, changes, now, tenancy, breakGlass } = deps

  /**
   * `move` changes the user's roles while the user's row is locked. It returns warnings; undefined if nothing changed.
   */
  function change(
    kind: 'role.granted' | 'role.revoked',
    actor: Actor,
    id: string,
    role: Role,
    reason: string | undefined,
    move: (tx: Tx, user: UserRow) => Promise<Warning[] | undefined>,
  ): Promise<Outcome> {
    if (!mayHandle(actor, role)) fail('forbidden', `the role ${role} has permissions that you do not have`)
    const { tenantId } = actor
    return db.inTenant(tenantId, async (tx) => {
      if (kind === 'role.revoked' && mayBeLast([role])) await holdAdministrators(tx, tenantId)
      const before = present(await lockUser(tx, tenantId, id))
      refuseStronger(actor, before)
      const warnings = await move(tx, before)
      if (!warnings) return { user: before, changed: false, warnings: [] }
      const after = present(await findUser(tx, tenantId, id))
      const user_id = encodeId('user', id)
      const target = { type: 'user', id: user_id, name: after.username }
      const details = { ...(reason !== undefined && { reason }), ...warned(warnings) }
      const more = { target, ...(Object.keys(details).length > 0 && { details }) }
      await audit.record(tx, actor, kind, { user_id, role }, more)
      await changes.record(tx, tenantId, [{ kind: 'user', subject: id }])
      return { user: after, changed: true, warnings }
    })
  }

  return {
    grant: async (
      actor: Actor,
      id: string,
      role: Role,
      reason: string | undefined,
    ): Promise<Outcome & { grant: GrantRow }> => {
      let grant: GrantRow | undefined
      const outcome = await change('role.granted', actor, id, role, reason, async (tx, user) => {
        const { tenantId: tenant_id } = actor
        const isNew = await insertRoleGrant(tx, {
          tenant_id,
          user_id: id,
          role,
          granted_by: actor.id,
          granted_at: now(),
        })
        grant = await findRoleGrant(tx, tenant_id, id, role)
        return isNew ? warnOfSetters(tx, actor, user, now()) : undefined
      })
      return { ...outcome, grant: grant! }
    },

    revoke: async (actor: Actor, id: string, role: Role, reason: string | undefined): Promise<Outcome> => {
      // Without this role, a person with other roles may no longer need the second factor that it requires.
      if (isOneself(actor, id) && (await tenancy.settings(actor.tenantId)).mfa.required_roles.includes(role))
        requirePresence(
          actor,
          `this removes the requirement of a second factor (mfa.required_roles, ${role}) from your own account`,
          now(),
        )
      return change('role.revoked', actor, id, role, reason, async (tx, user) => {
        const warnings = await requireAnother(tx, actor, user, user.roles.includes(role) ? [role] : [])
        if (mayBeLast([role]) && !mayBeLast(user.roles.filter((r) => r !== role)))
          warnings.push(...(await breakGlass.requireAnother(tx, actor, user)))
        return (await deleteGrant(tx, actor.tenantId, id, role)) ? warnings : undefined
      })
    },
  }
}
export type Grants = ReturnType<typeof createGrants>
