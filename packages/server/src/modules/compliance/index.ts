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

/** Retention periods, legal holds, and audited purges. */
export function createCompliance(deps: {
  db: Database
  pager: Pager
  audit: Audit
  now: () => Date
  log: Log
  /** Purge rules of all modules. */
  prunes: readonly Prune[]
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers'>
  /** The home tenant, in which the deployment is administered. */
  home: () => Promise<TenantId | undefined>
}) {
  return {
    purges: createPurges(deps),
    handlers: complianceHandlers({ ...deps, retention: createRetentionRules(deps), holds: createHolds(deps) }),
  }
}
