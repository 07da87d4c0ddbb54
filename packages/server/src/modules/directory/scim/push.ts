import type { Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import type { Allowance } from '../../../kernel/allowance.ts'
import type { Change } from '../../../memory/changes.ts'
import type { Pushed } from '../counts.ts'

/** The directory of an API key, and the transaction in which it is looked at. */
export type Place = { tx: Tx; tenant: TenantId; directory: string }

/** One push to a directory that is held for it. What it changes belongs to the run of this hour. */
export type Push = Place & {
  actor: Actor
  provider: string
  /** How many more users the tenant may have. */
  places: Allowance
  /** What its events say beside the change. */
  details: { run_id: string; provider: string }
  /** Notes what was done, and what replicas must look at again. */
  done: (pushed: Pushed, touched: readonly Change[]) => void
}
