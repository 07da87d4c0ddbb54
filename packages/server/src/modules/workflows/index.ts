import type { WorkflowsDeps } from './deps.ts'
import { createDriver } from './drive.ts'
import { pruneRuns, pruneSealed } from './due.queries.ts'
import { createEnd } from './end.ts'
import { createPlans } from './plan.ts'
import { createActorOf } from './requester.ts'
import { createRights } from './rights.ts'
import { runHandlers } from './runs.handlers.ts'
import { createRuns, job } from './runs.ts'
import { createCarryOut } from './step.ts'

export { playbookPermissions } from './playbooks.ts'

/** Workflows and incident playbooks: sequences of operations with the rights of the requester. */
export function createWorkflows(deps: WorkflowsDeps) {
  const rights = createRights(deps)
  const plans = createPlans({ ...deps, rights })
  const actorOf = createActorOf(deps.standingOf)
  const end = createEnd(deps)
  const runs = createRuns({
    ...deps,
    plans,
    actorOf,
    end,
    begun: (tenant, id) => void driver.start(tenant, id),
  })
  const driver = createDriver({
    ...deps,
    end,
    carryOut: createCarryOut({ ...deps, actorOf, rights }),
    runs,
  })
  return {
    handlers: runHandlers({ ...deps, plans, runs, driver }),
    jobs: [{ name: job, cron: '* * * * *', run: driver.run }],
    prunes: [pruneSealed, pruneRuns],
    /** Called at the start: continues runs that an ended process left. */
    begin: driver.run,
    letGo: driver.letGo,
    stop: driver.stop,
  }
}
