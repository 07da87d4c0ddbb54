import type { Tx } from '../../../db/database.ts'
import type { Source } from '../../../kernel/actor.ts'
import type { Change } from '../../../replication/changes.ts'

/**
 * Functions of `sessions/` that this folder needs. They end sessions in the transaction of a change; the caller records
 * the returned changes.
 */
export type SessionEnds = {
  endOfUser: (tx: Tx, source: Source, userId: string) => Promise<Change[]>
  endOfUsers: (tx: Tx, source: Source, userIds: readonly string[]) => Promise<Change[]>
  /** Of one user, or of everybody for null: sessions that a password opened. */
  endPasswordSessions: (tx: Tx, source: Source, userId: string | null) => Promise<Change[]>
}
