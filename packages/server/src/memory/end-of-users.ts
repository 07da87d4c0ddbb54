import type { Tx } from '../db/database.ts'
import type { Source } from '../kernel/actor.ts'
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
