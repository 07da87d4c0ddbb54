import type { Tx } from '../../../db/database.ts'
import type { Source } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Change } from '../../../memory/changes.ts'
import type { EndOfUsers, NamedUser } from '../../../memory/end-of-users.ts'
import type { Audit } from '../../audit/index.ts'
import type { EndSessionsOf, IdentityDeps } from '../deps.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { deleteFactorsOf, deleteRolesOf } from './offboarding.queries.ts'

/** Reason in events for everything that ends with a deleted user. */
export const userDeleted = 'the user was deleted'

/** Numbers of ended items, by kind. */
export type EndedCounts = Readonly<Record<string, number>>
type Ended = { counts: EndedCounts; changes: Change[] }

/**
 * Ends the access of users for good, with audit events. The users' rows are locked. The caller removes leaving users
 * from their groups, and records the changes.
 */
export function createOffboarding(deps: {
  audit: Audit
  endOfUsers: IdentityDeps['endOfUsers']
  keysOfUser: Pick<IdentityDeps['keysOfUser'], 'endIn'>
  endSessionsOf: EndSessionsOf
  sessions: Pick<Sessions, 'endOfUsers'>
}) {
  const { audit, endOfUsers, keysOfUser, endSessionsOf, sessions } = deps
  const { linked_accounts, api_keys, enrollment_tokens, devices } = endOfUsers

  const personOf = ({ user_id: id, username: name }: NamedUser) => {
    const user_id = encodeId('user', id)
    return { user_id, target: { type: 'user', id: user_id, name } } as const
  }

  async function endFactors(tx: Tx, source: Source, users: readonly NamedUser[], reason: string): Promise<number> {
    const had = await deleteFactorsOf(
      tx,
      source.tenantId,
      users.map((u) => u.user_id),
    )
    const ended = users.filter((u) => had.has(u.user_id)).map(personOf)
    await audit.recordAll(
      tx,
      ended.map(({ user_id, target }) => ({
        source,
        kind: 'user.mfa_disabled',
        fields: { user_id },
        more: { target, details: { reason } },
      })),
    )
    return ended.length
  }

  async function endRoles(tx: Tx, source: Source, users: readonly NamedUser[], reason: string): Promise<number> {
    const known = new Map(users.map((u) => [u.user_id, personOf(u)]))
    const revoked = await deleteRolesOf(tx, source.tenantId, [...known.keys()])
    await audit.recordAll(
      tx,
      revoked.flatMap(({ user_id: id, role }) => {
        const person = known.get(id)
        if (!person) return []
        const { user_id, target } = person
        return {
          source,
          kind: 'role.revoked',
          fields: { user_id, role },
          more: { target, details: { reason } },
        } as const
      }),
    )
    return revoked.length
  }

  /** Ends the second factors and the items of these functions. The names are those in events. */
  async function end(
    tx: Tx,
    source: Source,
    users: readonly NamedUser[],
    reason: string,
    ends: Partial<IdentityDeps['endOfUsers']>,
  ): Promise<Ended> {
    const counts: Record<string, number> = { second_factors: await endFactors(tx, source, users, reason) }
    const changes: Change[] = []
    for (const [name, endThem] of Object.entries(ends)) {
      const ended = await endThem(tx, source, users, reason)
      counts[name] = ended.count
      changes.push(...ended.changes)
    }
    return { counts, changes }
  }

  return {
    /**
     * Ends the credentials of this user, and the API keys and enrollment tokens that the user created. Roles, groups
     * and devices stay. The caller ends the sessions.
     */
    endCredentials: async (tx: Tx, source: Source, user: NamedUser, reason: string): Promise<Ended> => {
      const owner = { tenantId: source.tenantId, userId: user.user_id }
      let tokensMade: readonly Change[] = []
      const keys: EndOfUsers = async () => {
        const ended = await keysOfUser.endIn(tx, source, owner, reason)
        tokensMade = ended.tokens
        return { count: ended.keys.length, changes: ended.keys }
      }
      const tokens: EndOfUsers = async (...given) => {
        const ended = await enrollment_tokens(...given)
        return { count: ended.count + tokensMade.length, changes: [...tokensMade, ...ended.changes] }
      }
      return end(tx, source, [user], reason, { linked_accounts, api_keys: keys, enrollment_tokens: tokens })
    },

    /**
     * Ends everything that these users were given: roles, credentials, devices with their certificates, and sessions.
     * Links of deleted users to provider accounts stay: they give no access, and keep a provider from creating a new
     * user for a deleted one. The links of `returning` users end.
     */
    cutAccess: async (
      tx: Tx,
      source: Source,
      users: readonly NamedUser[],
      reason: string,
      returning: readonly NamedUser[] = [],
    ): Promise<Ended> => {
      if (users.length === 0) return { counts: {}, changes: [] }
      const roles = await endRoles(tx, source, users, reason)
      const links: EndOfUsers = () => linked_accounts(tx, source, returning, reason)
      const ends = { ...(returning.length > 0 && { linked_accounts: links }), api_keys, enrollment_tokens, devices }
      const { counts, changes } = await end(tx, source, users, reason, ends)
      const userIds = users.map((user) => user.user_id)
      const vpn_sessions = await endSessionsOf(tx, source.tenantId, { userIds, reason: 'revoked', by: source })
      const ended = await sessions.endOfUsers(tx, source, userIds)
      return {
        counts: { roles, ...counts, vpn_sessions, admin_sessions: ended.length },
        changes: [...changes, ...ended],
      }
    },
  }
}
export type Offboarding = ReturnType<typeof createOffboarding>
