import type { Tx } from '../../../db/database.ts'
import { type Actor, personsBehind, type TenantId } from '../../../kernel/actor.ts'
import { noteSetters } from './credential-setters.queries.ts'

/** Names a key behind which nobody is known. */
export const unownedKey = (id: string): string => `key/${id}`

/** The people behind an administrator's request and the account that it speaks for, by UUID; else the key itself. */
function settersOf(actor: Actor): readonly string[] {
  const { principal } = actor
  if (principal.kind !== 'api_key') return personsBehind(actor)
  const people = new Set([...personsBehind(actor), ...(principal.ownerId === null ? [] : [principal.ownerId])])
  return people.size > 0 ? [...people].sort() : [unownedKey(principal.id)]
}

/** Notes in a change that somebody set what another user signs in with; of the own account nothing. */
export async function noteSetting(tx: Tx, actor: Actor, tenant: TenantId, user: string, at: Date): Promise<void> {
  const by = settersOf(actor).filter((setter) => setter !== user)
  if (by.length > 0) await noteSetters(tx, tenant, { user, by, at })
}
