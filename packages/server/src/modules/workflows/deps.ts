import type { TSchema } from 'typebox'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { StoredCall } from '../../db/tables/operations.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Signals } from '../../memory/signals.ts'
import type { Access } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import type { Confirmations } from '../gateways/index.ts'
import type { NotificationRules } from '../notifications/index.ts'

type Call = StoredCall & { query?: object }
/** What the rooms of this module share; each takes the part it needs. */
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
  /** Operations of the contract, by the handlers that everybody's requests reach; asked for when they are all there. */
  perform: () => {
    /** A permission that the call needs and the actor does not have. */
    lacks: (actor: Actor, call: Call) => string | undefined
    needsStepUp: (call: Call) => boolean
    run: (actor: Actor, call: Call) => Promise<unknown>
    /** Throws 422 with the fields that break a schema. */
    validate: (schema: TSchema, value: unknown) => void
  }
  requireStepUp: (actor: Actor) => Promise<void>
  /** Throws what stopping a user (a UUID) would be refused with; what it would warn of. */
  requireStoppable: (actor: Actor, userId: string) => Promise<readonly { code: string; message: string }[]>
  confirmations: Confirmations
  notifications: Pick<NotificationRules, 'notify' | 'close'>
  /** Purges what is over of the tenant, until the signal; how many rows of each class went. */
  purgeNow: (tenant: TenantId, signal: AbortSignal) => Promise<ReadonlyMap<string, number>>
}
