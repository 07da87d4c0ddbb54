import type { Tx } from '../../db/database.ts'
import type { Source, TenantId } from '../../kernel/actor.ts'
import type { Change } from '../../replication/changes.ts'

export type NamedUser = { user_id: string; username: string }

/**
 * Ends what a module keeps that lets somebody in as one of these users, or act for them, for good. The users' rows are
 * locked; each end is in the audit log; the caller records the changes.
 */
export type EndOfUsers = (
  tx: Tx,
  source: Source,
  users: readonly NamedUser[],
  reason: string,
) => Promise<{ count: number; changes: readonly Change[] }>

/** UUIDs of the users or devices whose connections end. */
export type Whose = { userIds?: readonly string[]; deviceIds?: readonly string[] }
export type VpnEnd = 'revoked' | 'suspended'

/**
 * Ends VPN sessions and nothing else: their devices may connect again, unless something else keeps them out. The
 * caller records the change of the users or devices, by which gateways hear of it.
 */
export type EndVpnSessions = (tx: Tx, source: Source, whose: Whose, reason: VpnEnd) => Promise<{ vpn_sessions: number }>

/** Everything that gives a user or a device access, each ended by the module that keeps it. */
export type OffboardingParts = {
  roles: EndOfUsers
  second_factors: EndOfUsers
  linked_accounts: EndOfUsers
  api_keys: EndOfUsers
  enrollment_tokens: EndOfUsers
  devices: EndOfUsers
  admin_sessions: EndOfUsers
  /** The API keys that a user has or made, and the enrollment tokens that the user or one of these keys made. */
  keys_made: (
    tx: Tx,
    source: Source,
    owner: { tenantId: TenantId; userId: string },
    reason: string,
  ) => Promise<{ keys: readonly Change[]; tokens: readonly Change[] }>
  /** Revokes certificates for good. */
  certificates: (tx: Tx, tenant: TenantId, whose: Whose) => Promise<void>
  vpn_sessions: EndVpnSessions
}
