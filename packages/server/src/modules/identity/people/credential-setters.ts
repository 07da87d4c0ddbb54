import type { Tx } from '../../../db/database.ts'
import { type Actor, personsBehind, type TenantId } from '../../../kernel/actor.ts'
import { day } from '../../../kernel/time.ts'
import type { Warning } from './administrators.ts'
import { countOtherSetters, noteSetters } from './credential-setters.queries.ts'

/** Name of a key without a known person behind it. */
export const unownedKey = (id: string): string => `key/${id}`

/**
 * Returns the people behind an administrator's request and the account that it speaks for, by UUID. If there are none,
 * returns the key itself.
 */
function settersOf(actor: Actor): readonly string[] {
  const { principal } = actor
  if (principal.kind !== 'api_key') return personsBehind(actor)
  const people = new Set([...personsBehind(actor), ...(principal.ownerId === null ? [] : [principal.ownerId])])
  return people.size > 0 ? [...people].sort() : [unownedKey(principal.id)]
}

/** Stores that the caller set another user's way to sign in. Nothing is stored for the caller's own account. */
export async function noteSetting(tx: Tx, actor: Actor, tenant: TenantId, user: string, at: Date): Promise<void> {
  const by = settersOf(actor).filter((setter) => setter !== user)
  if (by.length > 0) await noteSetters(tx, tenant, { user, by, at })
}

const recentDays = 7

/** Warns a caller who grants a role if others could sign in as the user: they would have the role too. */
export async function warnOfSetters(
  tx: Tx,
  actor: Actor,
  user: { user_id: string; username: string },
  now: Date,
): Promise<Warning[]> {
  const since = new Date(now.getTime() - recentDays * day)
  const count = await countOtherSetters(tx, actor.tenantId, { user: user.user_id, except: settersOf(actor), since })
  if (count === 0) return []
  const others = count === 1 ? '1 other person or API key' : `${count} other people or API keys`
  return [
    {
      code: 'sign_in_set_by_others',
      message:
        `In the last ${recentDays} days, ${others} created the account ${user.username}, or set its password, second factor or ` +
        `linked account, and may be able to sign in with it. To see them: holdfast audit list --target ${user.username}`,
    },
  ]
}
