import type { Tx } from '../db/database.ts'
import type { Source, TenantId } from '../kernel/actor.ts'
import type { Change } from './changes.ts'

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

/** Enrollment tokens, by the people and API keys (`makers`, TypeIDs) that made them. */
export type TokensOfMakers = {
  /** UUIDs of those that work. */
  find: (tx: Tx, tenant: TenantId, makers: readonly string[]) => Promise<string[]>
  /** Revokes them, on record. The caller records the changes. */
  revoke: (tx: Tx, source: Source, makers: readonly string[], reason: string | undefined) => Promise<Change[]>
  /** All tenants that have such tokens. */
  tenants: (makers: readonly string[]) => Promise<TenantId[]>
}
