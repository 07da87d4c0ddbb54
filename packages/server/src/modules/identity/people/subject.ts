import { type Actor, permissionsOf, type Source, type TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { decodeId } from '../../../kernel/ids.ts'
import { isRole, mayHandle } from '../../access/index.ts'
import type { SessionPrincipal } from '../sessions/sessions.ts'
import type { UserRow } from './users.queries.ts'

/** The user whose credentials a request is about. `own` is the session of that very user. */
export type Subject = { id: string; tenant: TenantId; source: Source; own: SessionPrincipal | undefined }

/**
 * Without a name a session means its own user. Anyone else's credentials need `credentials:write`, and nobody's are
 * touched by a session that still owes something.
 */
export function subjectOf(actor: Actor, wireId: string | undefined): Subject {
  const session = actor.principal.kind === 'session' ? actor.principal : undefined
  const id =
    wireId === undefined
      ? (session?.userId ?? failField('user_id', 'is required with an API key'))
      : decodeId('user', wireId)
  if (session && id === session.userId)
    return { id, tenant: session.tenantId, source: { ...actor, tenantId: session.tenantId }, own: session }
  if (session?.requiredAction || !permissionsOf(actor).has('credentials:write'))
    fail('forbidden', 'the credentials of another user need the permission credentials:write')
  return { id: id ?? missingUser(), tenant: actor.tenantId, source: actor, own: undefined }
}

export function missingUser(): never {
  return fail('not_found', 'no such user')
}

/** Whoever could take away more than they hold could take it over. */
export function refuseStronger(actor: Actor, user: UserRow): void {
  const beyond = user.roles.find((role) => isRole(role) && !mayHandle(actor, role))
  if (beyond) fail('forbidden', `this user has the role ${beyond}, which allows more than you may do yourself`)
}
