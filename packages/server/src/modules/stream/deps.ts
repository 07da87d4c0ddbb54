import type { Database, Tx } from '../../db/database.ts'
import type { Principal, TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Feed } from '../../replication/feed.ts'
import type { Signals } from '../../replication/signals.ts'
import type { Audit } from '../audit/index.ts'

export type StreamDeps = {
  db: Database
  changes: Pick<Changes, 'listen'>
  feed: Pick<Feed, 'isFresh' | 'catchUp' | 'seqOf' | 'onBeat'>
  signals: Pick<Signals, 'listen' | 'onLost' | 'watch'>
  now: () => Date
  audit: Pick<Audit, 'headOf' | 'since'>
  statusOf: (tenant: TenantId) => string | Promise<string>
  /** Returns when a session ends for inactivity, including activity that other replicas wrote. Null if it has ended. */
  idleExpiresAt: (tx: Tx, session: Principal<'session'>) => Promise<Date | null>
  onError: (e: unknown) => void
}
