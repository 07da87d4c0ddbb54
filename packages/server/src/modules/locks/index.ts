import type { Pager } from '../../db/page.ts'
import { lockHandlers } from './locks.handlers.ts'
import { pruneLocks } from './locks.queries.ts'
import { createLocks, type LocksDeps } from './locks.ts'

/** Locks: they deny access at once, whatever the status of their target. */
export function createLocking(deps: LocksDeps & { pager: Pager }) {
  const locks = createLocks(deps)
  return {
    handlers: lockHandlers({ ...deps, locks }),
    releaseOfUser: locks.releaseOfUser,
    jobs: [{ name: locks.job, cron: '* * * * *', run: locks.endDue }],
    prunes: [pruneLocks],
  }
}
