import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Prune } from '../../db/retention.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Log } from '../../kernel/log.ts'
import type { Audit } from '../audit/index.ts'
import type { NotificationRules } from '../notifications/index.ts'
import { complianceHandlers } from './compliance.handlers.ts'
import { createHolds } from './holds.ts'
import { createPurges } from './purges.ts'
import { createRetentionRules } from './retention.ts'

/** For how long data is kept, what may not go, and that what went is on record. */
export function createCompliance(deps: {
  db: Database
  pager: Pager
  audit: Audit
  now: () => Date
  log: Log
  /** What of a class goes, of every module. */
  prunes: readonly Prune[]
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers'>
  /** Where the deployment itself is administered. */
  home: () => Promise<TenantId | undefined>
}) {
  return {
    purges: createPurges(deps),
    handlers: complianceHandlers({ ...deps, retention: createRetentionRules(deps), holds: createHolds(deps) }),
  }
}
