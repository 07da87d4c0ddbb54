import type { Tx } from '../db/database.ts'
import type { Source, TenantId } from '../kernel/actor.ts'
import type { Change } from './changes.ts'

export type NamedUser = { user_id: string; username: string }
/**
 * Ends a module's credentials and devices of these users for good. The users' rows are locked. Each end is in the audit
 * log. The caller records the changes.
 */
export type EndOfUsers = (
  tx: Tx,
  source: Source,
  users: readonly NamedUser[],
  reason: string,
) => Promise<{ count: number; changes: readonly Change[] }>

/** Enrollment tokens, by the people and API keys (`makers`, TypeIDs) that created them. */
export type TokensOfMakers = {
  /** Returns UUIDs of the valid ones. */
  find: (tx: Tx, tenant: TenantId, makers: readonly string[]) => Promise<string[]>
  /** Revokes them, with audit events. The caller records the changes. */
  revoke: (tx: Tx, source: Source, makers: readonly string[], reason: string | undefined) => Promise<Change[]>
  /** Returns all tenants with such tokens. */
  tenants: (makers: readonly string[]) => Promise<TenantId[]>
}
