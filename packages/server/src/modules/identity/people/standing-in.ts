import type { Database, Tx } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { holdAdministrators, requireAnother, type Warning } from './administrators.ts'
import type { BreakGlass } from './break-glass.ts'
import { accountOf, present, refuseOneself, refuseStronger } from './subject.ts'
import { findUser, lockUser } from './users.queries.ts'

/**
 * Check before a caller gives or takes something that acts for a user, such as an enrollment token or a device. 403 if
 * the user has more permissions than the caller. With `field`, the user must also exist: otherwise 422.
 */
export async function requireNotStronger(tx: Tx, actor: Actor, user: string, field?: string): Promise<void> {
  // A lock makes this wait for a deletion of the user, which ends everything that the user has.
  const find = field === undefined ? findUser : lockUser
  const found = await find(tx, actor.tenantId, user)
  if (field !== undefined && (!found || found.deleted_at)) failField(field, 'no such user')
  if (found) refuseStronger(actor, found)
}

/**
 * Check before a user is stopped by other means than the status. The user is locked until commit. It must not be the
 * caller or a user with more permissions. Only a platform administrator may stop the last administrator.
 */
export async function holdStoppable(
  tx: Tx,
  actor: Actor,
  user: string,
): Promise<{ user_id: string; username: string; warnings: Warning[] }> {
  // A service account may stop the person who created it, since that lifts no limit.
  if (accountOf(actor) === user)
    fail('forbidden', 'this is your own account: another administrator must make this change')
  await holdAdministrators(tx, actor.tenantId)
  const found = present(await lockUser(tx, actor.tenantId, user))
  refuseStronger(actor, found)
  const warnings = await requireAnother(tx, actor, found, found.roles)
  return { user_id: found.user_id, username: found.username, warnings }
}

/** Throws the error that stopping a user would give, without any change. Returns its warnings. */
export const createRequireStoppable =
  ({ db, breakGlass }: { db: Database; breakGlass: Pick<BreakGlass, 'requireAnother'> }) =>
  (actor: Actor, user: string): Promise<Warning[]> =>
    db.inTenant(actor.tenantId, async (tx) => {
      const found = await holdStoppable(tx, actor, user)
      return [...found.warnings, ...(await breakGlass.requireAnother(tx, actor, found))]
    })

/**
 * Check before a user is let in again: not by themselves, nor by a caller with fewer permissions. A deleted user
 * passes.
 */
export async function requireMayLetIn(tx: Tx, actor: Actor, user: string): Promise<void> {
  refuseOneself(actor, user)
  await requireNotStronger(tx, actor, user)
}
