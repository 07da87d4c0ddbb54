import type { Database, Tx } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { holdAdministrators, requireAnother, type Warning } from './administrators.ts'
import type { BreakGlass } from './break-glass.ts'
import { accountOf, present, refuseOneself, refuseStronger } from './subject.ts'
import { findUser, lockUser } from './users.queries.ts'

/**
 * For whatever lets its holder stand in for a user, as an enrollment token or a device does: 403 where that user may do
 * what the caller may not. Somebody who gets it must be there, too: 422 on `field`.
 */
export async function requireNotStronger(tx: Tx, actor: Actor, user: string, field?: string): Promise<void> {
  // Whoever gets something of somebody waits for their deletion, which ends what they have.
  const find = field === undefined ? findUser : lockUser
  const found = await find(tx, actor.tenantId, user)
  if (field !== undefined && (!found || found.deleted_at)) failField(field, 'no such user')
  if (found) refuseStronger(actor, found)
}

/**
 * For whatever keeps a user out beside their status: held until commit, somebody else, nobody who may do more, and not
 * the last who administers unless the platform says so.
 */
export async function holdStoppable(
  tx: Tx,
  actor: Actor,
  user: string,
): Promise<{ user_id: string; username: string; warnings: Warning[] }> {
  // A service account may stop the person who made it: that lifts nothing.
  if (accountOf(actor) === user) fail('forbidden', 'this is your own account: somebody else must do that')
  await holdAdministrators(tx, actor.tenantId)
  const found = present(await lockUser(tx, actor.tenantId, user))
  refuseStronger(actor, found)
  const warnings = await requireAnother(tx, actor, found, found.roles)
  return { user_id: found.user_id, username: found.username, warnings }
}

/** Throws what stopping a user would be refused with, and changes nothing; what it would warn of. */
export const createRequireStoppable =
  ({ db, breakGlass }: { db: Database; breakGlass: Pick<BreakGlass, 'requireAnother'> }) =>
  (actor: Actor, user: string): Promise<Warning[]> =>
    db.inTenant(actor.tenantId, async (tx) => {
      const found = await holdStoppable(tx, actor, user)
      return [...found.warnings, ...(await breakGlass.requireAnother(tx, actor, found))]
    })

/** For whatever lets a user in again: somebody else, who may not do less. A user who is gone may be let in by anybody. */
export async function requireMayLetIn(tx: Tx, actor: Actor, user: string): Promise<void> {
  refuseOneself(actor, user)
  await requireNotStronger(tx, actor, user)
}
