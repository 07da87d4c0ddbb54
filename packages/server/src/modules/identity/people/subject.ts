import {
  type Actor,
  type Principal,
  permissionsOf,
  personsBehind,
  type Source,
  type TenantId,
} from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { missing } from '../../../kernel/ids.ts'
import { isRole, mayHandle } from '../../access/index.ts'
import type { UserRow } from './users.queries.ts'

/** User whose credentials a request concerns. `own` is a session of that very user. */
export type Subject = { id: string; tenant: TenantId; source: Source; own: Principal<'session'> | undefined }

/**
 * Without a name, a session means its own user. Credentials of others need `credentials:write`, and a session without a
 * required action.
 */
export function subjectOf(actor: Actor, userId: string | undefined): Subject {
  const session = actor.principal.kind === 'session' ? actor.principal : undefined
  const id = userId ?? session?.userId ?? failField('user_id', 'is required with an API key')
  if (session && id === session.userId)
    return { id, tenant: session.tenantId, source: { ...actor, tenantId: session.tenantId }, own: session }
  if (session?.requiredAction || !permissionsOf(actor).has('credentials:write'))
    fail('forbidden', 'changing the credentials of another user needs the permission credentials:write')
  refuseOneself(actor, id)
  return { id, tenant: actor.tenantId, source: actor, own: undefined }
}

/** Returns the user of the session, or the account that a key speaks for. */
export const accountOf = ({ principal }: Actor): string | null => {
  if (principal.kind === 'session') return principal.userId
  return principal.kind === 'api_key' ? principal.ownerId : null
}
/** True if the user is the caller's account, or a person behind the caller's key. */
export const isOneself = (actor: Actor, user: string): boolean =>
  accountOf(actor) === user || personsBehind(actor).includes(user)

/**
 * Nobody lifts a limit of their own account: not with their session, nor with a key or service account that they
 * created.
 */
export function refuseOneself(actor: Actor, user: string): void {
  if (isOneself(actor, user)) fail('forbidden', 'this is your own account: another administrator must make this change')
}

/** Returns the user, or 404 if the user is missing or deleted. */
export function present<U extends { deleted_at: Date | null }>(user: U | undefined): U {
  return user && !user.deleted_at ? user : missing('user')
}

/** 422 for a service account, which nobody signs in with. */
export function requirePerson(user: { kind: string; username: string }): void {
  if (user.kind !== 'person') fail('validation_error', `${user.username} is a service account, which cannot sign in`)
}

/** Returns a role of the user that allows more than the caller may do. */
const roleBeyond = (actor: Actor, { roles }: { roles: readonly string[] }): string | undefined =>
  roles.find((role) => isRole(role) && !mayHandle(actor, role))
export const isStronger = (actor: Actor, user: { roles: readonly string[] }): boolean =>
  roleBeyond(actor, user) !== undefined

/** A caller who could change a user with more permissions could take that account over. */
export function refuseStronger(actor: Actor, user: { roles: readonly string[] }): void {
  const beyond = roleBeyond(actor, user)
  if (beyond) fail('forbidden', `this user has the role ${beyond}, which has permissions that you do not have`)
}

/** Configured part of a user, for its version. The last sign-in and the lock change by themselves. */
export const userVersion = ({ last_login_at: _, locked_until: __, ...set }: UserRow) => set
