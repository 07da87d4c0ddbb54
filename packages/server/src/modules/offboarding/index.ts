import type { Tx } from '../../db/database.ts'
import type { Source } from '../../kernel/actor.ts'
import type { Change } from '../../replication/changes.ts'
import type { EndOfUsers, NamedUser, OffboardingParts, VpnEnd, Whose } from './parts.ts'

export type { EndOfUsers, EndVpnSessions, NamedUser, OffboardingParts } from './parts.ts'

/** The reason in the audit events of everything that ends with a deleted user. */
export const userDeleted = 'the user was deleted'

/** How many of each part ended, and the changes for the caller to record. */
export type Cut<Part extends string> = { counts: Readonly<Record<Part, number>>; changes: readonly Change[] }
type SessionsCut = Cut<'vpn_sessions' | 'admin_sessions'>

/**
 * Ends for good what gave a person or a device access, in the transaction that stops them. Each module ends its own
 * part (`OffboardingParts`, filled by the composition root). This file says which parts end at which stop. A lock is no
 * such stop: it is released again, and ends sessions only.
 */
export function createOffboarding(parts: () => OffboardingParts) {
  async function cutConnections(tx: Tx, source: Source, whose: Whose, reason: VpnEnd): Promise<number> {
    const { certificates, vpn_sessions } = parts()
    await certificates(tx, source.tenantId, whose)
    return (await vpn_sessions(tx, source, whose, reason)).vpn_sessions
  }

  /** Ends these parts one after the other, in the order in which their rows are locked. */
  async function endAll<Part extends string>(
    tx: Tx,
    source: Source,
    users: readonly NamedUser[],
    reason: string,
    ends: Readonly<Record<Part, EndOfUsers>>,
  ): Promise<Cut<Part>> {
    const counts = {} as Record<Part, number>
    const changes: Change[] = []
    for (const part of Object.keys(ends) as Part[]) {
      const ended = users.length > 0 && (await ends[part](tx, source, users, reason))
      counts[part] = ended ? ended.count : 0
      if (ended) changes.push(...ended.changes)
    }
    return { counts, changes }
  }

  /** Certificates for good, VPN and admin sessions. */
  async function cutSessions(
    tx: Tx,
    source: Source,
    users: readonly NamedUser[],
    reason: VpnEnd,
  ): Promise<SessionsCut> {
    if (users.length === 0) return { counts: { vpn_sessions: 0, admin_sessions: 0 }, changes: [] }
    const vpn_sessions = await cutConnections(tx, source, { userIds: users.map((u) => u.user_id) }, reason)
    const ended = await parts().admin_sessions(tx, source, users, reason)
    return { counts: { vpn_sessions, admin_sessions: ended.count }, changes: ended.changes }
  }

  return {
    /**
     * Ends everything that deleted users were given: roles, credentials, devices with their certificates, and sessions.
     * The users' rows are locked, and the caller has removed the users from their groups. Links of deleted users to
     * provider accounts stay: they give no access, and keep a provider from creating a new user for a deleted one. The
     * links of `returning` users end.
     */
    cutAccess: async (
      tx: Tx,
      source: Source,
      users: readonly NamedUser[],
      reason: string,
      returning: readonly NamedUser[] = [],
    ) => {
      const { roles, second_factors, linked_accounts, api_keys, enrollment_tokens, devices } = parts()
      const before = await endAll(tx, source, users, reason, { roles, second_factors })
      const links = await endAll(tx, source, returning, reason, { linked_accounts })
      const after = await endAll(tx, source, users, reason, { api_keys, enrollment_tokens, devices })
      const sessions = await cutSessions(tx, source, users, 'revoked')
      return {
        counts: { ...before.counts, ...links.counts, ...after.counts, ...sessions.counts },
        changes: [...before.changes, ...links.changes, ...after.changes, ...sessions.changes],
      }
    },

    /** Ends certificates and sessions of suspended users. Roles, credentials and devices count again once they are back. */
    cutSuspended: (tx: Tx, source: Source, users: readonly NamedUser[]): Promise<SessionsCut> =>
      cutSessions(tx, source, users, 'suspended'),

    /** Ends certificates and VPN sessions of devices that are revoked or suspended. */
    cutDevices: async (
      tx: Tx,
      source: Source,
      deviceIds: readonly string[],
      reason: VpnEnd,
    ): Promise<Cut<'vpn_sessions'>> => {
      const vpn_sessions = await cutConnections(tx, source, { deviceIds }, reason)
      return { counts: { vpn_sessions }, changes: [] }
    },

    /**
     * Ends the credentials of this user, and the API keys and enrollment tokens that the user created. Roles, groups
     * and devices stay. The caller ends the sessions.
     */
    endCredentials: async (tx: Tx, source: Source, user: NamedUser, reason: string) => {
      const { second_factors, linked_accounts, keys_made, enrollment_tokens } = parts()
      const owner = { tenantId: source.tenantId, userId: user.user_id }
      let tokensMade: readonly Change[] = []
      const keys: EndOfUsers = async () => {
        const ended = await keys_made(tx, source, owner, reason)
        tokensMade = ended.tokens
        return { count: ended.keys.length, changes: ended.keys }
      }
      const tokens: EndOfUsers = async (...given) => {
        const ended = await enrollment_tokens(...given)
        return { count: ended.count + tokensMade.length, changes: [...tokensMade, ...ended.changes] }
      }
      const ends = { second_factors, linked_accounts, api_keys: keys, enrollment_tokens: tokens }
      return endAll(tx, source, [user], reason, ends)
    },
  }
}
export type Offboarding = ReturnType<typeof createOffboarding>
