import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Tx } from '../../../db/database.ts'
import type { Actor, Source, TenantId } from '../../../kernel/actor.ts'
import type { Allowance } from '../../../kernel/allowance.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import { oneLine, shortened, storable } from '../../../kernel/text.ts'
import type { Change } from '../../../replication/changes.ts'
import { isRole } from '../../access/index.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { holdAdministrators, lastHeld, mayBeLast } from '../people/administrators.ts'
import { noteSetting } from '../people/credential-setters.ts'
import { canonicalEmail } from '../people/email.ts'
import { deleteGrant, insertRoleGrant } from '../people/grants.queries.ts'
import { addMembers, lockGroups, removeMembers } from '../people/groups.queries.ts'
import { userExists } from '../people/known.queries.ts'
import { newUsername } from '../people/new-username.ts'
import { present, refuseStronger, requirePerson, subjectOf } from '../people/subject.ts'
import { findUser, insertUnlessTaken, lockUser, type UserRow } from '../people/users.queries.ts'
import type { AdminSessions } from '../sessions/sessions.ts'
import { admitByProvider, holdAdmitted } from './by-provider.queries.ts'

/** An identity provider that vouches for a person: UUID and name. */
type Voucher = { id: string; name: string }
/** Statement of a provider about one user: the values that it decides, and those that the user has. */
type Said<T extends string = string> = { decides: readonly T[]; says: ReadonlySet<string> }
type Profile = { username: string | undefined; email: string | undefined; displayName: string | undefined }

/**
 * Users, groups and roles of people that an identity provider vouches for. All of it runs in the transaction of the
 * sign-in. The links between users and accounts are decided by the caller.
 */
export function createByProvider(deps: {
  audit: Audit
  now: () => Date
  tenancy: Pick<IdentityDeps['tenancy'], 'entitlements'>
  sessions: Pick<AdminSessions, 'open' | 'endOfProvider'>
}) {
  const { audit, now, sessions, tenancy } = deps
  const detailsOf = ({ id, name }: Voucher) => ({
    provider: { id: encodeId('identity_provider', id), name },
  })

  /** Grants or revokes the roles that the provider decides. The last administrator keeps the role. */
  async function followRoles(tx: Tx, source: Source, user: UserRow, { decides, says }: Said, by: Voucher) {
    let moved = 0
    for (const role of [...decides].sort()) {
      if (!isRole(role) || says.has(role) === user.roles.includes(role)) continue
      const user_id = encodeId('user', user.user_id)
      const grant = { tenant_id: source.tenantId, user_id: user.user_id, role, granted_by: null, granted_at: now() }
      const more = { target: { type: 'user', id: user_id, name: user.username }, details: detailsOf(by) }
      if (says.has(role)) {
        await insertRoleGrant(tx, grant)
        await audit.record(tx, source, 'role.granted', { user_id, role }, more)
      } else {
        if ((await lastHeld(tx, source.tenantId, user, [role])) !== undefined) continue
        await deleteGrant(tx, source.tenantId, user.user_id, role)
        await audit.record(tx, source, 'role.revoked', { user_id, role }, more)
      }
      moved++
    }
    return moved
  }

  async function followGroups(tx: Tx, source: Source, user: UserRow, { decides, says }: Said, by: Voucher) {
    const wanted = decides.filter((g) => says.has(g) && !user.group_ids.includes(g))
    const surplus = decides.filter((g) => !says.has(g) && user.group_ids.includes(g))
    if (wanted.length + surplus.length === 0) return 0
    const { tenantId } = source
    const found = await lockGroups(tx, tenantId, [...wanted, ...surplus])
    const pairs = (groups: readonly string[]) =>
      groups.filter((g) => found.has(g)).map((group) => ({ group, user: user.user_id }))
    const added = await addMembers(tx, tenantId, pairs(wanted), now())
    const removed = await removeMembers(tx, tenantId, pairs(surplus), now())
    const after = (await findUser(tx, tenantId, user.user_id)) ?? user
    const inGroups = ({ group_ids }: UserRow) => ({ group_ids: group_ids.map((id) => encodeId('group', id)) })
    const user_id = encodeId('user', user.user_id)
    await audit.record(
      tx,
      source,
      'user.changed',
      { operation: 'update', user_id },
      {
        target: { type: 'user', id: user_id, name: user.username },
        changes: differences(inGroups(user), inGroups(after)),
        details: detailsOf(by),
      },
    )
    return added.length + removed.length
  }

  return {
    /** Locks and returns the tenant's remaining number of users. First lock if a user may have to be created. */
    holdPlaces: (tx: Tx, tenant: TenantId): Promise<Allowance> => tenancy.entitlements.hold(tx, tenant, 'users'),

    /** First lock of the transaction, if the provider decides a role that must have a holder. */
    hold: async (tx: Tx, source: Source, roles: readonly string[]): Promise<void> => {
      if (mayBeLast(roles)) await holdAdministrators(tx, source.tenantId)
    },

    /** First lock of every change that may remove the last way to sign in. */
    holdAdministrators: async (tx: Tx, tenant: TenantId): Promise<void> => {
      await holdAdministrators(tx, tenant)
    },

    /**
     * Creates a user for the provider. Returns its UUID, or the reason for the refusal. No existing user is matched by
     * name or email address.
     */
    provision: async (
      tx: Tx,
      source: Source,
      { username, email, displayName }: Profile,
      by: Voucher,
      places: Allowance,
    ): Promise<{ userId: string } | 'no_username' | 'username_refused' | 'username_taken' | 'no_place_left'> => {
      if (username === undefined) return 'no_username'
      const { name } = newUsername(username)
      if (name === undefined) return 'username_refused'
      const at = now()
      const id = newUuid()
      const row = {
        tenant_id: source.tenantId,
        user_id: id,
        kind: 'person' as const,
        username: name,
        email:
          (email !== undefined && /^[^@\s]+@[^@\s]+$/.test(email) && email.length <= 254 && canonicalEmail(email)) ||
          null,
        display_name: storable(shortened(oneLine(displayName ?? ''), 256), 256),
        source: 'sso' as const,
        created_at: at,
        updated_at: at,
      }
      if (places.room() < 1) {
        places.refuse(1)
        return 'no_place_left'
      }
      const granted = places.take(1)
      if (!(await insertUnlessTaken(tx, granted, row))) return 'username_taken'
      const user_id = encodeId('user', id)
      const more = { target: { type: 'user', id: user_id, name }, details: detailsOf(by) }
      await audit.record(tx, source, 'user.changed', { operation: 'create', user_id }, more)
      return { userId: id }
    },

    /** Updates the user's groups and roles to the provider's statement, among those that it decides. */
    follow: async (
      tx: Tx,
      source: Source,
      userId: string,
      { roles, groups }: { roles: Said; groups: Said },
      by: Voucher,
    ): Promise<boolean> => {
      const user = await lockUser(tx, source.tenantId, userId)
      if (!user || user.deleted_at) return false
      return (await followGroups(tx, source, user, groups, by)) + (await followRoles(tx, source, user, roles, by)) > 0
    },

    /**
     * Returns the name of a user who may sign in, and locks the user; undefined for others. `isSignIn` also stores the
     * time of the sign-in.
     */
    admit: (tx: Tx, tenant: TenantId, userId: string, isSignIn: boolean): Promise<string | undefined> =>
      isSignIn ? admitByProvider(tx, tenant, userId, now()) : holdAdmitted(tx, tenant, userId),

    nameOf: async (tx: Tx, tenant: TenantId, userId: string): Promise<string | undefined> =>
      (await findUser(tx, tenant, userId))?.username,

    openSession: async (
      tx: Tx,
      source: Source,
      { userId, username }: { userId: string; username: string },
      how: {
        by: Voucher
        there: { subject: string; sid: string | null }
        authMethod: string
        limits: SecuritySettings['sessions']
      },
    ) => {
      const user_id = encodeId('user', userId)
      const as = { ...source, type: 'session' as const, id: user_id, name: username }
      const more = { target: { type: 'user', id: user_id, name: username }, details: detailsOf(how.by) }
      const { authMethod, limits, there } = how
      await audit.record(tx, as, 'login.succeeded', { user_id, auth_method: authMethod }, more)
      // Undefined if a lock binds the user.
      return sessions.open(tx, as, userId, limits, {
        authMethod,
        steppedUpAt: null,
        provider: { id: how.by.id, ...there },
      })
    },

    /**
     * Ends the sessions that a provider opened, of some users or of all, when the provider or the links to it are no
     * longer valid. The caller records the changes.
     */
    endProviderSessions: (
      tx: Tx,
      source: Source,
      providerId: string,
      users: readonly string[] | null,
    ): Promise<Change[]> => sessions.endOfProvider(tx, source, providerId, { users, subject: null, sid: null }),

    /** Ends the sessions of an account at the provider, of a session at the provider, or of both. */
    endSessionsThere: (
      tx: Tx,
      source: Source,
      providerId: string,
      there: { subject: string | null; sid: string | null },
    ): Promise<Change[]> => sessions.endOfProvider(tx, source, providerId, { users: null, ...there }),

    /** False for a deleted user, whose accounts may be linked to another user. */
    isThere: userExists,
    requireThere: async (tx: Tx, tenant: TenantId, userId: string): Promise<void> => {
      present(await findUser(tx, tenant, userId))
    },
    /** 403 unless the caller may decide how this person signs in. Locks the user and returns the name. */
    requireLinkable: async (tx: Tx, actor: Actor, userId: string): Promise<string> => {
      const { own } = subjectOf(actor, userId)
      const user = present(await lockUser(tx, actor.tenantId, userId))
      if (!own) refuseStronger(actor, user)
      requirePerson(user)
      return user.username
    },

    /** Stores that another person gave a user a new way to sign in. */
    noteSetting,
  }
}
export type ByProvider = ReturnType<typeof createByProvider>
