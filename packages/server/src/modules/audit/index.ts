import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import { auditHandlers } from './audit.handlers.ts'
import { createRecorder } from './recorder.ts'

export type { Changed, Target } from './recorder.ts'

export const createAudit = (deps: { db: Database; pager: Pager; now: () => Date }) => ({
  ...createRecorder(deps),
  handlers: auditHandlers(deps),
})
export type Audit = ReturnType<typeof createAudit>
