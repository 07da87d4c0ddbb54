import type { StartStepName } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import type { Audit } from '../../audit/index.ts'
import { readDismissed, setDismissed } from './settings.queries.ts'

/** Steps of the first setup that the administrators of a tenant removed from its list. */
export const createDismissedSteps = ({ db, audit, now }: { db: Database; audit: Audit; now: () => Date }) => ({
  read: async (tx: Tx, tenant: TenantId): Promise<ReadonlySet<string>> => new Set(await readDismissed(tx, tenant)),

  /** Returns true if anything changed. A repetition is not recorded. */
  set: (actor: Actor, step: StartStepName, dismissed: boolean): Promise<boolean> =>
    db.inTenant(actor.tenantId, async (tx) => {
      if (!(await setDismissed(tx, actor.tenantId, { step, dismissed }, now()))) return false
      await audit.record(tx, actor, 'start_step.dismissed', { step, dismissed })
      return true
    }),
})
