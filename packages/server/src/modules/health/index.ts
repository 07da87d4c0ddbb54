import { readinessHandlers } from './health.handlers.ts'
import { createReadiness, type ReadinessDeps } from './readiness.ts'

export { createListening, type Listening } from './listening.ts'

/** Readiness: tells if this replica can take requests. */
export function createReadinessHealth(deps: ReadinessDeps) {
  const readiness = createReadiness(deps)
  return {
    handlers: readinessHandlers(readiness),
    /** Called when sign-in has become possible. */
    open: readiness.open,
    /** Called at shutdown; the replica is no longer ready. */
    close: readiness.close,
    jobs: [{ name: 'forget_replicas', cron: '25 4 * * *', run: readiness.forgetOthers }],
  }
}
