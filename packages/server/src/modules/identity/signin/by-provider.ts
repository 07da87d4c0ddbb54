import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Tx } from '../../../db/database.ts'
import type { Actor, Source, TenantId } from '../../../kernel/actor.ts'
import type { Allowance } from '../../../kernel/allowance.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import { oneLine, shortened, storable } from '../../../kernel/text.ts'
import type { Change } from '../../../memory/changes.ts'
import { isRole } from '../../access/index.ts'
import type { Audit } from '../../audit/index.ts'
import type { IdentityDeps } from '../deps.ts'
import { holdAdministrators, lastHeld, mayBeLast } from '../people/administrators.ts'
import { noteSetting } from '../people/credential-setters.ts'
import { canonicalEmail } from '../people/email.ts'
import { deleteGrant, insertGrant } from '../people/grants.queries.ts'
import { addMembers, lockGroups, removeMembers } from '../people/groups.queries.ts'
import { userExists } from '../people/known.queries.ts'
import { newUsername } from '../people/new-username.ts'
import { present, refuseStronger, requirePerson, subjectOf } from '../people/subject.ts'
import { findUser, insertUnlessTaken, lockUser, type UserRow } from '../people/users.queries.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { admitByProvider, holdAdmitted } from './by-provider.queries.ts'

/** An identity provider that vouches for somebody, by its UUID and its name. */
type Voucher = { id: string; name: string }
/** Of what a provider decides about, what it says of one user. */
type Said<T extends string = string> = { decides: readonly T[]; says: ReadonlySet<string> }
type Profile = { username: string | undefined; email: string | undefined; displayName: string | undefined }

/**
 * What a person is and may do whom an identity provider vouches for. All of it happens in the transaction of that
 * sign-in, whose rules (who is linked to whom) are not decided here.
 */
export function createByProvider(deps: {
  audit: Audit
  now: () => Date
  tenancy: Pick<IdentityDeps['tenancy'], 'entitlements'>
  sessions: Pick<Sessions, 'open' | 'endOfProvider'>
}) {
  const { audit, now, sessions, tenancy } = deps
  const detailsOf = ({ id, name }: Voucher) => ({
    provider: { id: encodeId('identity_provider', id), name },
  })

  /** A role that the provider decides about is given or taken; the last administrator keeps theirs. */
  async function followRoles(tx: Tx, source: Source, user: UserRow, { decides, says }: Said, by: Voucher) {
    let moved = 0
    for (const role of [...decides].sort()) {
      if (!isRole(role) || says.has(role) === user.roles.includes(role)) continue
      const user_id = encodeId('user', user.user_id)
      const grant = { tenant_id: source.tenantId, user_id: user.user_id, role, granted_by: null, granted_at: now() }
      const more = { target: { type: 'user', id: user_id, name: user.username }, details: detailsOf(by) }
      if (says.has(role)) {
        await insertGrant(tx, grant)
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
    /** Comes first where a user may have to be made: how many more the tenant may have. */
    holdPlaces: (tx: Tx, tenant: TenantId): Promise<Allowance> => tenancy.entitlements.hold(tx, tenant, 'users'),

    /**
     * Comes before anything else of the transaction, where the provider decides about a role that somebody must have.
     */
    hold: async (tx: Tx, source: Source, roles: readonly string[]): Promise<void> => {
      if (mayBeLast(roles)) await holdAdministrators(tx, source.tenantId)
    },

    /** Comes first in whatever may close the last way in. */
    holdAdministrators: async (tx: Tx, tenant: TenantId): Promise<void> => {
      await holdAdministrators(tx, tenant)
    },

    /**
     * A user of the provider's making: its UUID; or why there is none. Nobody is found by a name or a mail address.
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

    /** Puts the user into the groups and roles that the provider says, among those that it decides about. */
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

    /** The name of the user, who signs in now or comes for something else; undefined for whoever may not. Locks them. */
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
      // Undefined for a user whom a lock binds.
      return sessions.open(tx, as, userId, limits, {
        authMethod,
        steppedUpAt: null,
        provider: { id: how.by.id, ...there },
      })
    },

    /**
     * Where a provider, or what links users to it, is good no more: the sessions that it opened, of some users or of
     * all. The caller records the changes.
     */
    endProviderSessions: (
      tx: Tx,
      source: Source,
      providerId: string,
      users: readonly string[] | null,
    ): Promise<Change[]> => sessions.endOfProvider(tx, source, providerId, { users, subject: null, sid: null }),

    /** The same of one account at the provider, of one of its sessions there, or of both. */
    endSessionsThere: (
      tx: Tx,
      source: Source,
      providerId: string,
      there: { subject: string | null; sid: string | null },
    ): Promise<Change[]> => sessions.endOfProvider(tx, source, providerId, { users: null, ...there }),

    /** A user who was deleted is not; their accounts may be linked to somebody else. */
    isThere: userExists,
    requireThere: async (tx: Tx, tenant: TenantId, userId: string): Promise<void> => {
      present(await findUser(tx, tenant, userId))
    },
    /** 403 unless the caller may decide how this person signs in, whose row is held; the user's name. */
    requireLinkable: async (tx: Tx, actor: Actor, userId: string): Promise<string> => {
      const { own } = subjectOf(actor, userId)
      const user = present(await lockUser(tx, actor.tenantId, userId))
      if (!own) refuseStronger(actor, user)
      requirePerson(user)
      return user.username
    },

    /** Notes that somebody else gave a user another way to sign in. */
    noteSetting,
  }
}
export type ByProvider = ReturnType<typeof createByProvider>
