import type { TSchema } from 'typebox'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { StoredCall } from '../../db/tables/workflows.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../replication/changes.ts'
import type { Feed } from '../../replication/feed.ts'
import type { Signals } from '../../replication/signals.ts'
import type { Access } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import type { Confirmations } from '../gateways/index.ts'
import type { NotificationRules } from '../notifications/index.ts'

type Call = StoredCall & { query?: object }
/** Dependencies of this module. Each file picks the ones that it needs. */
export type WorkflowsDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Pick<Feed, 'seqOf'>
  signals: Pick<Signals, 'tellAfter'>
  pager: Pager
  now: () => Date
  onError: (e: unknown) => void
  standingOf: Access['standingOf']
  /**
   * Runs operations of the contract with the handlers of normal requests. It is a function because the handlers are
   * made later.
   */
  perform: () => {
    /** Returns a permission that the call needs and the actor lacks. */
    lacks: (actor: Actor, call: Call) => string | undefined
    needsStepUp: (call: Call) => boolean
    run: (actor: Actor, call: Call) => Promise<unknown>
    /** Throws 422 with the fields that break a schema. */
    validate: (schema: TSchema, value: unknown) => void
  }
  requireStepUp: (actor: Actor) => Promise<void>
  /** Throws the error that stopping a user (a UUID) would cause. Returns the warnings. */
  requireStoppable: (actor: Actor, userId: string) => Promise<readonly { code: string; message: string }[]>
  confirmations: Confirmations
  notifications: Pick<NotificationRules, 'notify' | 'close'>
  /** Purges data of the tenant past its retention, until the signal. Returns the number of rows of each class. */
  purgeNow: (tenant: TenantId, signal: AbortSignal) => Promise<ReadonlyMap<string, number>>
}
