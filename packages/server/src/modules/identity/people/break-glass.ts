import type { Database, Tx } from '../../../db/database.ts'
import { type Actor, personsBehind, type Source, type TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { requirePresence } from '../../../kernel/presence.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { Change, Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { holdAdministrators, indispensable, isOfPlatform, type Warning } from './administrators.ts'
import { selectBreakGlass, updateBreakGlass } from './break-glass.queries.ts'
import type { SessionEnds } from './ports.ts'
import { isOneself, present, refuseStronger, requirePerson, userVersion } from './subject.ts'
import { findUser, lockUser, type UserRow } from './users.queries.ts'

type Wanted = { user: string; to: boolean; reason: string | undefined; expected: ExpectedVersion }

/**
 * Break-glass users: local people whose password opens their account even while identity providers are the only way to
 * sign in (`login.enforce_sso`). While that is on, one of them who can administer must stay.
 */
export function createBreakGlass(deps: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  tenancy: Pick<IdentityDeps['tenancy'], 'enforcesSso'>
  sessions: Pick<SessionEnds, 'endPasswordSessions'>
}) {
  const { db, audit, changes, now, tenancy, sessions } = deps

  async function isLast(tx: Tx, tenant: TenantId, user: { user_id: string }): Promise<boolean> {
    if (!(await tenancy.enforcesSso(tx, tenant))) return false
    const [first, ...others] = await selectBreakGlass(tx, tenant, indispensable, 2)
    return first === user.user_id && others.length === 0
  }
  /**
   * 422 if nobody else could sign in. Call it only after `holdAdministrators`; turning the setting on takes the same
   * lock.
   */
  async function refuseLast(tx: Tx, tenant: TenantId, user: { user_id: string; username: string }): Promise<void> {
    if (await isLast(tx, tenant, user))
      fail(
        'validation_error',
        `${user.username} is the last break-glass user with an administrator role, and login.enforce_sso is on: create another break-glass user first, or turn login.enforce_sso off`,
      )
  }
  /** Like `refuseLast`, for stopping a user. A platform administrator gets a warning instead. */
  async function requireAnother(tx: Tx, actor: Actor, user: { user_id: string; username: string }): Promise<Warning[]> {
    if (!isOfPlatform(actor)) {
      await refuseLast(tx, actor.tenantId, user)
      return []
    }
    if (!(await isLast(tx, actor.tenantId, user))) return []
    return [
      {
        code: 'tenant_without_break_glass_user',
        message:
          'No break-glass user can administer this tenant now, and login.enforce_sso is on: if the identity provider ' +
          'fails, no user can sign in. Make another user a break-glass user: holdfast user break-glass NAME',
      },
    ]
  }

  /**
   * True if marking this user lifts `login.enforce_sso` for the caller. While it is on, this holds for any account,
   * since the caller may know its password. For a caller's own account by a key, it also holds beforehand, since the
   * mark would exempt it later.
   */
  async function liftsOwnLimit(tx: Tx, actor: Actor, user: string): Promise<boolean> {
    const { principal, tenantId } = actor
    if (principal.kind !== 'session' && isOneself(actor, user)) return true
    const isBound = personsBehind(actor).length > 0 && (principal.kind !== 'session' || principal.tenantId === tenantId)
    return isBound && (await tenancy.enforcesSso(tx, tenantId))
  }

  return {
    refuseLast,
    requireAnother,

    /** First lock of the transaction that turns `login.enforce_sso` on. */
    hold: async (tx: Tx, tenant: TenantId): Promise<void> => {
      await holdAdministrators(tx, tenant)
    },
    /** 422 if nobody could sign in then. Call it only after `hold`. */
    requireOne: async (tx: Tx, tenant: TenantId): Promise<void> => {
      if ((await selectBreakGlass(tx, tenant, indispensable, 1)).length === 0)
        failField(
          'login.enforce_sso',
          `needs an active break-glass user with the role ${indispensable.join(' or ')} and a password that is not temporary: create one with POST /v1/admin/users/break-glass`,
        )
    },
    /**
     * Ends the sessions that a password alone opened, except those of break-glass users. The caller records the
     * changes.
     */
    endPasswordSessions: (tx: Tx, source: Source): Promise<Change[]> => sessions.endPasswordSessions(tx, source, null),

    /** Requires that the caller may grant the roles of the user. */
    set: (actor: Actor, { user: id, to, reason, expected }: Wanted): Promise<{ user: UserRow; changed: boolean }> => {
      const tenant = actor.tenantId
      return db.inTenant(tenant, async (tx) => {
        if (!to) await holdAdministrators(tx, tenant)
        const before = present(await lockUser(tx, tenant, id))
        refuseStronger(actor, before)
        requirePerson(before)
        expected.require(userVersion(before))
        if (before.break_glass === to) return { user: before, changed: false }
        if (before.source !== 'local')
          fail(
            'validation_error',
            `${before.username} has no password on this server, because the account comes from a directory or an identity provider`,
          )
        if (to && (await liftsOwnLimit(tx, actor, id)))
          requirePresence(actor, 'this exempts an account from login.enforce_sso', now())
        if (!to) await refuseLast(tx, tenant, before)
        if (!(await updateBreakGlass(tx, tenant, id, to, now()))) return { user: before, changed: false }
        const isShut = !to && (await tenancy.enforcesSso(tx, tenant))
        const ended = isShut ? await sessions.endPasswordSessions(tx, actor, id) : []
        const user_id = encodeId('user', id)
        const more = {
          target: { type: 'user', id: user_id, name: before.username },
          ...(reason !== undefined && { details: { reason } }),
        }
        await audit.record(tx, actor, 'user.break_glass_changed', { user_id, break_glass: to }, more)
        await changes.record(tx, tenant, [{ kind: 'user', subject: id }, ...ended])
        return { user: present(await findUser(tx, tenant, id)), changed: true }
      })
    },
  }
}
export type BreakGlass = ReturnType<typeof createBreakGlass>
