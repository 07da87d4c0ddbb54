import type { Tx } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { refuseStronger } from './subject.ts'
import { findUser } from './users.queries.ts'

/**
 * For whatever lets its holder stand in for a user, as an enrollment token or a device does: 403 where that user may do
 * what the caller may not. Somebody who gets it must be there, too: 422 on `field`.
 */
export async function requireNotStronger(tx: Tx, actor: Actor, user: string, field?: string): Promise<void> {
  const found = await findUser(tx, actor.tenantId, user)
  if (field !== undefined && (!found || found.deleted_at)) failField(field, 'no such user')
  if (found) refuseStronger(actor, found)
}
