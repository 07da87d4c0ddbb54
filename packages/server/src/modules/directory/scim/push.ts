import type { Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import type { Allowance } from '../../../kernel/allowance.ts'
import type { Change } from '../../../replication/changes.ts'
import type { Pushed } from '../counts.ts'

/** The directory of an API key, and the transaction that reads it. */
export type PushDirectory = { tx: Tx; tenant: TenantId; directory: string }

/** One push to a directory whose lock is held. Its changes belong to the current hour's run. */
export type Push = PushDirectory & {
  actor: Actor
  provider: string
  /** Number of further users that the tenant may have. */
  places: Allowance
  /** Details added to its audit events. */
  details: { run_id: string; provider: string }
  /** Reports what was done, and the changes for other replicas. */
  done: (pushed: Pushed, touched: readonly Change[]) => void
}
