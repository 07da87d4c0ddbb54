import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import { auditHandlers } from './audit.handlers.ts'
import { createRecorder } from './recorder.ts'
import { createSequencer } from './sequencer.ts'

export { arrivalOf, type Changed, type Target } from './record.ts'

/** The record of each tenant: what happened, in the order in which it was committed. */
export function createAudit(deps: { db: Database; pager: Pager; now: () => Date; onError: (e: unknown) => void }) {
  const { wake, catchUp, start, stop } = createSequencer(deps)
  return {
    ...createRecorder({ ...deps, wake }),
    handlers: auditHandlers({ ...deps, catchUp }),
    start,
    stop,
  }
}
export type Audit = ReturnType<typeof createAudit>
