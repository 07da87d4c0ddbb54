import type { WorkflowsDeps } from './deps.ts'
import { createDriver } from './drive.ts'
import { createEnd } from './end.ts'
import { createWorkflowPlans } from './plan.ts'
import { createActorOf } from './requester.ts'
import { createStepRights } from './rights.ts'
import { runHandlers } from './runs.handlers.ts'
import { pruneSealed, pruneWorkflowRuns } from './runs.queries.ts'
import { createWorkflowRuns, job } from './runs.ts'
import { createCarryOut } from './step.ts'

export { playbookPermissions } from './playbooks.ts'

/** Workflows and incident playbooks: sequences of operations with the rights of the requester. */
export function createWorkflows(deps: WorkflowsDeps) {
  const rights = createStepRights(deps)
  const plans = createWorkflowPlans({ ...deps, rights })
  const actorOf = createActorOf(deps.standingOf)
  const end = createEnd(deps)
  const runs = createWorkflowRuns({
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
    prunes: [pruneSealed, pruneWorkflowRuns],
    /** Called at the start: continues runs that an ended process left. */
    begin: driver.run,
    letGo: driver.letGo,
    stop: driver.stop,
  }
}
